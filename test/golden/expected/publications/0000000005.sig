qn©T±e²ygûN’n6àƒî™ßŒVPPÒx {Évx7*ïKÇa…8~„Ù—8a[-?‘>’äXÄ€#Îh

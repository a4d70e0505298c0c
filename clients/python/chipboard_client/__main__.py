"""`python -m chipboard_client`."""
import sys

from chipboard_client import main

sys.exit(main())

/* Before the first paint: says whether a key is kept, so that its place can be reserved (see api.js). */
{
  const { src } = /** @type {HTMLScriptElement} */ (document.currentScript);
  const isOwn = new URL("../", src).pathname === "/";
  const stores = isOwn ? [sessionStorage, localStorage] : [sessionStorage];
  const isKept = stores.some((store) => store.getItem("chipboard-key") !== null);
  document.documentElement.classList.toggle("keyed", isKept);
}

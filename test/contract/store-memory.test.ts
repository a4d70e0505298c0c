import { MemoryStore } from "../store/memory-store.ts";
import { describeStore, keysOf } from "./store.contract.ts";

describeStore("the memory store", async () => {
  const store = new MemoryStore();
  return {
    store,
    other: store,
    rawNames: () => keysOf(store, ""),
    dispose: () => store.close(),
  };
});

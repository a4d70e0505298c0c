/** The contract of states for Durable Objects, by the operator's door in workerd. */
import { startEdge } from "../../tools/edge/start-edge.ts";
import { Forwarder } from "../contract/forwarder.ts";
import { stateContract } from "../contract/state.contract.ts";

stateContract("objects in workerd", async () => {
  const edge = await startEdge({ worker: "test/edge/losing-worker.ts" });
  const door = new URL(edge.state);
  const forwarder = await Forwarder.start(door.hostname, Number(door.port));
  door.port = String(forwarder.port);
  let isBroken = false;
  return {
    location: door.href,
    breakDown: async () => {
      isBroken = true;
      await forwarder.stop();
    },
    restore: async () => {
      isBroken = false;
      await forwarder.resume();
    },
    loseCounts: async () => {
      const lost = await fetch(edge.url);
      if (!lost.ok) throw new Error(await lost.text());
    },
    remove: async () => {
      if (!isBroken) await forwarder.stop();
      await edge.close();
    },
  };
});

/** A Worker that does one operation of the store in R2 a request, for the contract of stores. */
import type { Bucket } from "../../src/hosts/worker/bindings.ts";
import { R2Store } from "../../src/hosts/worker/r2-store.ts";
import { ChipboardError } from "../../src/lib/errors.ts";
import type { ObjectPart, StoredObject } from "../../src/ports/store.ts";

export default {
  async fetch(request: Request, { SNAPSHOTS }: { SNAPSHOTS: Bucket }): Promise<Response> {
    const asked = JSON.parse(request.headers.get("x-asked") as string) as {
      operation: string;
      prefix: string;
      key: string;
      bytesMax?: number;
      part?: ObjectPart;
    };
    const { operation, prefix, key, bytesMax, part } = asked;
    const store = new R2Store(SNAPSHOTS, prefix);
    try {
      if (operation === "get") return bytesOr404(await store.get(key, bytesMax, part));
      if (operation === "open") {
        const found = await store.open(key);
        if (found === null) return bytesOr404(null);
        return new Response(found.stream, { headers: { "x-size": String(found.sizeBytes) } });
      }
      if (operation === "create")
        return Response.json(await store.create(key, new Uint8Array(await request.arrayBuffer())));
      if (operation === "list") {
        const objects: StoredObject[] = [];
        for await (const object of store.list(key)) objects.push(object);
        return Response.json(objects);
      }
      if (operation === "delete") await store.delete(key);
      else if (operation === "prove") await store.prove();
      else await store.mayWrite();
      return Response.json(null);
    } catch (error) {
      const { message } = error as Error;
      const exitCode = error instanceof ChipboardError ? error.exitCode : null;
      return Response.json({ message, exitCode }, { status: 500 });
    }
  },
};

const bytesOr404 = (bytes: Buffer | null): Response =>
  bytes === null ? new Response(null, { status: 404 }) : new Response(new Uint8Array(bytes));

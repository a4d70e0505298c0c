import { sha256Hex } from "../snapshot/digest.ts";
import type { RenderJob } from "./render-order.ts";

/** What a job came to. */
export interface Rendered {
  /** The job's number in its list. */
  readonly number: number;
  readonly sizeBytes: number;
  readonly sha256: string;
}

/**
 * Renders jobs for their digests. Bytes are kept while they fit, and made again when they are asked
 * for.
 */
export class Rendering {
  readonly #jobs: readonly RenderJob[];
  readonly #kept = new Map<number, Uint8Array>();
  #roomBytes: number;

  constructor(jobs: readonly RenderJob[], keptBytesMax: number) {
    this.#jobs = jobs;
    this.#roomBytes = keptBytesMax;
  }

  /** Draws numbers from `drawn`, which threads may share, until all are drawn. */
  async run(drawn: Int32Array, progress: (done: number) => void): Promise<Rendered[]> {
    const results: Rendered[] = [];
    for (;;) {
      const number = Atomics.add(drawn, 0, 1);
      const job = this.#jobs[number];
      if (job === undefined) return results;
      const bytes = await job.render();
      results.push({ number, sizeBytes: bytes.length, sha256: sha256Hex(bytes) });
      if (!this.#keeps(number, bytes)) release(bytes);
      progress(number + 1);
    }
  }

  /** The bytes as they were kept, which they are no more; null where they were not. */
  takeKept(number: number): Uint8Array | null {
    const bytes = this.#kept.get(number) ?? null;
    this.#kept.delete(number);
    return bytes;
  }

  /** The bytes of a job, made anew. */
  render(number: number): Uint8Array | Promise<Uint8Array> {
    return (this.#jobs[number] as RenderJob).render();
  }

  #keeps(number: number, bytes: Uint8Array): boolean {
    if (bytes.length > this.#roomBytes) return false;
    this.#roomBytes -= bytes.length;
    this.#kept.set(number, bytes);
    return true;
  }
}

/** Frees the memory of bytes that have it to themselves now, rather than when it is collected. */
function release({ buffer, byteLength }: Uint8Array): void {
  if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) buffer.transfer(0);
}

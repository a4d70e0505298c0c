import { positionIn, runOf, type Origin, type RowRun } from "./given-levels.ts";
import { longer } from "./session-column.ts";

type Growing = { -readonly [K in keyof RowRun]: RowRun[K] };

/**
 * Where the rows of one contract stand in their files. They mostly stand evenly, one after another
 * or a market apart: then the first one and the distance are all that is held.
 */
export class RowPositions {
  readonly #runs: Growing[] = [];
  #length = 0;
  /** Of all rows, once a run is uneven. */
  #each: Int32Array<ArrayBuffer> | null = null;

  /** The contract's next row stands there in the file of its origin. */
  push(origin: Origin, position: number): void {
    const row = this.#length;
    this.#length = row + 1;
    const run = this.#runs.at(-1);
    if (run?.origin !== origin) {
      this.#runs.push({ from: row, origin, even: { first: position, step: 0 } });
    } else if (run.even !== null) {
      const { first, step } = run.even;
      const place = row - run.from;
      if (place === 1) run.even = { first, step: position - first };
      else if (position !== first + step * place) this.#spread(run, row);
    }
    this.#note(row, position);
  }

  /** Ascending, without a gap. */
  get runs(): readonly RowRun[] {
    return this.#runs;
  }

  /** Of rows in uneven runs; null where there are none. */
  get each(): Int32Array | null {
    return this.#each?.slice(0, this.#length) ?? null;
  }

  /** The position of a row. */
  at(row: number): number {
    return positionIn(this.runOf(row), this.#each, row);
  }

  /** The run of a row. */
  runOf(row: number): RowRun {
    return runOf(this.#runs, row);
  }

  /** From `row` on the run is uneven: each row is noted, also those there were. */
  #spread(run: Growing, row: number): void {
    if (this.#each === null) {
      const each = new Int32Array(Math.max(16, row * 2));
      for (let at = 0; at < row; at += 1) each[at] = this.at(at);
      this.#each = each;
    }
    run.even = null;
  }

  #note(row: number, position: number): void {
    if (this.#each === null) return;
    if (row === this.#each.length) this.#each = longer(this.#each);
    this.#each[row] = position;
  }
}

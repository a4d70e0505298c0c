import type { Session } from "../market/session.ts";

/**
 * The sessions that contracts of one input have levels for, in the order of their rows. Most inputs
 * name the same ones for every contract: they are held once.
 */
export class SessionTemplate {
  #length = 0;
  #sessions = new Int32Array(64);

  /** Whether the row `at` of a contract has this session; whoever comes to a new row first says it. */
  has(at: number, session: Session): boolean {
    if (at < this.#length) return this.#sessions[at] === session;
    if (at === this.#sessions.length) this.#sessions = longer(this.#sessions);
    this.#sessions[at] = session;
    this.#length = at + 1;
    return true;
  }

  /** The sessions of the first `count` rows; a window, so treat as immutable. */
  first(count: number): Int32Array<ArrayBuffer> {
    return this.#sessions.subarray(0, count);
  }
}

/** The sessions of one contract's rows: the template's, until one differs. */
export class SessionColumn {
  readonly #template: SessionTemplate;
  #length = 0;
  #own: Int32Array<ArrayBuffer> | null = null;

  constructor(template: SessionTemplate) {
    this.#template = template;
  }

  /** The session of the contract's next row. */
  push(session: Session): void {
    const at = this.#length;
    this.#length = at + 1;
    if (this.#own === null) {
      if (this.#template.has(at, session)) return;
      this.#own = new Int32Array(Math.max(16, at * 2));
      this.#own.set(this.#template.first(at));
    } else if (at === this.#own.length) {
      this.#own = longer(this.#own);
    }
    this.#own[at] = session;
  }

  /** The sessions of all rows; a window, so treat as immutable. */
  get all(): Int32Array<ArrayBuffer> {
    return this.#own?.subarray(0, this.#length) ?? this.#template.first(this.#length);
  }
}

/** With room for twice as many. What held them before is freed at once. */
export const longer = (column: Int32Array<ArrayBuffer>): Int32Array<ArrayBuffer> =>
  new Int32Array(column.buffer.transfer(column.byteLength * 2));

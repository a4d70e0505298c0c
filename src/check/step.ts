/** A link of the proof. */
export interface Step {
  readonly link: "answer" | "sums" | "root" | "log" | "signature" | "memory" | "service";
  /** False: it cannot be proven, or nobody asked for it. */
  readonly isProven: boolean;
  /** A sentence without its full stop. */
  readonly text: string;
}

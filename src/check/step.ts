/** A link of a proof, and the error of a head that changed during the proof. */
import { DamageError } from "../lib/errors.ts";

/** A link of the proof. */
export interface Step {
  readonly link: "answer" | "sums" | "root" | "log" | "signature" | "memory";
  /** False: it cannot be proven, or nobody asked for it. */
  readonly isProven: boolean;
  /** A sentence without its full stop. */
  readonly text: string;
}

export const proven = (link: Step["link"], text: string): Step => ({ link, isProven: true, text });

export const unproven = (link: Step["link"], text: string): Step => ({
  link,
  isProven: false,
  text,
});

/** Damage, unless something was published during the check: then another check finds none. */
export class HeadChangedError extends DamageError {}

/**
 * The channel between a primary process and its workers, which `fork` gives them. What chipboard
 * says on it are objects with a member `chipboard`, the kind of the message; others are left alone.
 */

/** One end of it: a ChildProcess or cluster Worker in the primary, `process` in a worker. */
export interface Channel {
  /** Absent where the process was not forked. */
  send?(message: object, callback?: (error: Error | null) => void): unknown;
  on(event: "message", listener: (message: unknown) => void): unknown;
  on(event: "disconnect", listener: () => void): unknown;
  off(event: "message", listener: (message: unknown) => void): unknown;
  off(event: "disconnect", listener: () => void): unknown;
}

/** Sends the message. One to a process that is gone is lost without an error. */
export const tell = (to: Channel, message: object): void => {
  to.send?.(message, () => undefined);
};

/** Whether a message is one of chipboard's own. */
export const isOurs = (message: unknown): message is { readonly chipboard: string } =>
  typeof message === "object" && message !== null && "chipboard" in message;

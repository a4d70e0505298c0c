/** When a publish with `--wait` reads its input again. */
import { expect, test } from "vitest";
import { ConflictError, InputError } from "../../src/lib/errors.ts";
import { retryWhileEarly } from "../../src/publish/wait.ts";

const START = Date.parse("2026-11-21T00:05:00Z");

/** Runs `attempt` with the number of the try; each takes `tookMs`. Returns the times of the tries, in seconds. */
async function triesOf(
  attempt: (n: number) => void,
  waitMs: number,
  tookMs = 0,
): Promise<{ seconds: number[]; told: string[]; error: unknown }> {
  let nowMs = START;
  const seconds: number[] = [];
  const told: string[] = [];
  const pause = async (ms: number) => void (nowMs += ms);
  const run = async (): Promise<void> => {
    seconds.push((nowMs - START) / 1_000);
    nowMs += tookMs;
    attempt(seconds.length);
  };
  const error = await retryWhileEarly(
    run,
    waitMs,
    { now: () => nowMs },
    (stage) => void told.push(stage),
    pause,
  ).then(
    () => null,
    (cause: unknown) => cause,
  );
  return { seconds, told, error };
}

const missing = (): never => {
  throw new InputError("1 error", [], { waitFor: "Cannot read q.csv: no such file" });
};

test("every 30 seconds, the last time when the wait is over; then the error stands", async () => {
  const { seconds, told, error } = await triesOf(missing, 100_000);
  expect(seconds).toEqual([0, 30, 60, 90, 100]);
  expect(told).toEqual(
    Array(4).fill("Waiting until 2026-11-21T00:06:40.000Z: Cannot read q.csv: no such file"),
  );
  expect(error).toMatchObject({ message: "1 error" });
});

test("a try that takes long does not move the end", async () => {
  expect((await triesOf(missing, 100_000, 25_000)).seconds).toEqual([0, 55, 100]);
});

test("until it succeeds, or fails for another reason", async () => {
  const { seconds, error } = await triesOf((n) => (n < 3 ? missing() : undefined), 600_000);
  expect([seconds, error]).toEqual([[0, 30, 60], null]);
  const conflict = new ConflictError("Another one");
  const other = await triesOf((n) => {
    if (n < 2) missing();
    throw conflict;
  }, 600_000);
  expect([other.seconds, other.error]).toEqual([[0, 30], conflict]);
});

const limited = (seconds: number): never => {
  throw new InputError("1 error", [], { waitFor: "429", retryAfterMs: seconds * 1_000 });
};

test("not before the time that a server asks for; at once to its end if that is too long", async () => {
  const { seconds } = await triesOf((n) => limited(n < 3 ? 45 : 5), 150_000);
  expect(seconds).toEqual([0, 45, 90, 120, 150]);
  const late = await triesOf((n) => limited(n === 1 ? 0 : 71), 100_000);
  expect([late.seconds, late.told.length]).toEqual([[0, 30], 1]);
  expect(late.error).toMatchObject({ message: "1 error" });
  expect((await triesOf(() => limited(70), 100_000, 30_000)).seconds).toEqual([0, 100]);
});

test("without a wait there is one try", async () => {
  expect((await triesOf(missing, 0)).seconds).toEqual([0]);
});

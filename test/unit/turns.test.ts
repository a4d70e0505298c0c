import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Turns } from "../../src/lib/turns.ts";

test("one waiter goes on in each turn of the event loop, in the order of arrival", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const waiting = Promise.all(
    ["first", "second", "third"].map((name) => turns.next().then(() => order.push(name))),
  );
  for (let turn = 0; order.length < 3; turn += 1) {
    await nextTurn();
    order.push(`turn ${turn}`);
  }
  await waiting;
  const waiters = order.filter((name) => !name.startsWith("turn"));
  expect(waiters).toEqual(["first", "second", "third"]);
  for (const [at, name] of order.entries()) {
    if (waiters.includes(name)) expect(waiters).not.toContain(order[at + 1]);
  }
});

test("who comes later waits for a turn, too", async () => {
  const turns = new Turns();
  await turns.next();
  let isOn = false;
  const waiting = turns.next().then(() => (isOn = true));
  await Promise.resolve();
  expect(isOn).toBe(false);
  await waiting;
});

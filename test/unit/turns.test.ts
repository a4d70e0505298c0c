import { setImmediate as nextTurn } from "node:timers/promises";
import { expect, test } from "vitest";
import { Turns } from "../../src/lib/turns.ts";

test("one waiter goes on in each turn of the event loop, in the order of arrival", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const waiting = Promise.all(
    ["first", "second", "third"].map((name) => turns.next("").then(() => order.push(name))),
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
  await turns.next("");
  let isOn = false;
  const waiting = turns.next("").then(() => (isOn = true));
  await Promise.resolve();
  expect(isOn).toBe(false);
  await waiting;
});

test("holders take turns, however many of their waiters wait", async () => {
  const turns = new Turns();
  const order: string[] = [];
  const waiters = ["many 1", "many 2", "many 3", "many 4", "few 1", "one", "few 2"];
  await Promise.all(
    waiters.map((name) => turns.next(name.split(" ")[0] as string).then(() => order.push(name))),
  );
  expect(order).toEqual(["many 1", "few 1", "one", "many 2", "few 2", "many 3", "many 4"]);
});

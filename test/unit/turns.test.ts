import { setImmediate as nextTurn } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Turns, type Place } from "../../src/lib/turns.ts";

/** A promise that somebody else keeps. */
function gate(): { readonly opened: Promise<void>; readonly open: () => void } {
  let open = (): void => {};
  const opened = new Promise<void>((resolve) => (open = resolve));
  return { opened, open };
}

describe("turns", () => {
  test("one waiter goes on in each turn of the event loop, in the order of arrival", async () => {
    const place = new Turns(setImmediate).placeOf("");
    const order: string[] = [];
    const waiting = Promise.all(
      ["first", "second", "third"].map((name) => place.turn().then(() => order.push(name))),
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

  test("a later waiter also waits for a turn", async () => {
    const place = new Turns(setImmediate).placeOf("");
    await place.turn();
    let isOn = false;
    const waiting = place.turn().then(() => (isOn = true));
    await Promise.resolve();
    expect(isOn).toBe(false);
    await waiting;
  });

  test("holders take turns, however many of their waiters wait", async () => {
    const turns = new Turns(setImmediate);
    const order: string[] = [];
    const waiters = ["many 1", "many 2", "many 3", "many 4", "few 1", "one", "few 2"];
    await Promise.all(
      waiters.map((name) =>
        turns
          .placeOf(name.split(" ")[0] as string)
          .turn()
          .then(() => order.push(name)),
      ),
    );
    expect(order).toEqual(["many 1", "few 1", "one", "many 2", "few 2", "many 3", "many 4"]);
  });
});

describe("places", () => {
  test("a holder has eight, and others have their own", () => {
    const turns = new Turns(setImmediate);
    const places = Array.from({ length: 8 }, () => turns.placeOf("many"));
    expect(places.map((place) => place.enter())).toEqual(Array(8).fill(true));
    const ninth = turns.placeOf("many");
    expect(ninth.enter()).toBe(false);
    expect(turns.placeOf("other").enter()).toBe(true);
    expect(turns.refusals).toBe(1);
    (places[0] as Place).leave();
    expect(ninth.enter()).toBe(true);
  });

  test("a place is taken once and given back once", () => {
    const turns = new Turns(setImmediate);
    const place = turns.placeOf("a");
    for (let again = 0; again < 9; again += 1) expect(place.enter()).toBe(true);
    place.leave();
    place.leave();
    const all = Array.from({ length: 9 }, () => turns.placeOf("a").enter());
    expect(all.filter(Boolean)).toHaveLength(8);
  });
});

describe("work", () => {
  test("two of a holder and four of all run at once; a waiting holder is next", async () => {
    const turns = new Turns(setImmediate);
    const begun: string[] = [];
    const gates = new Map<string, ReturnType<typeof gate>>();
    const running = ["a 1", "a 2", "a 3", "b 1", "c 1", "d 1"].map((name) => {
      const door = gate();
      gates.set(name, door);
      return turns.placeOf(name.slice(0, 1)).run(async () => {
        begun.push(name);
        await door.opened;
      });
    });
    const end = async (name: string): Promise<void> => {
      gates.get(name)?.open();
      await nextTurn();
    };
    await nextTurn();
    expect(begun).toEqual(["a 1", "a 2", "b 1", "c 1"]);
    await end("b 1");
    expect(begun.slice(4)).toEqual(["d 1"]);
    await end("c 1");
    // The third of a waits until one of its own has ended.
    expect(begun.slice(5)).toEqual([]);
    await end("a 2");
    expect(begun.slice(5)).toEqual(["a 3"]);
    for (const name of gates.keys()) await end(name);
    await Promise.all(running);
  });

  test("work that fails makes room, and work within work never waits", async () => {
    const turns = new Turns(setImmediate);
    const failing = Array.from({ length: 20 }, () =>
      turns.placeOf("a").run(() => Promise.reject(new Error("no"))),
    );
    const outcomes = await Promise.allSettled(failing);
    expect(outcomes.every(({ status }) => status === "rejected")).toBe(true);
    const nested = Array.from({ length: 20 }, (_, at) => {
      const place = turns.placeOf(`holder ${at % 3}`);
      return place.run(() => place.run(async () => at));
    });
    expect(await Promise.all(nested)).toEqual(Array.from({ length: 20 }, (_, at) => at));
  });
});

describe("bytes held for one request", () => {
  const MB = 1_000_000;

  test("a holder has 64 MB, or one body; bytes given back are free again", () => {
    const turns = new Turns(setImmediate);
    const [one, two, three] = [turns.placeOf("a"), turns.placeOf("a"), turns.placeOf("a")];
    expect(one.hold(100 * MB)).toBe(true);
    expect([two.mayHold(), two.hold(1)]).toEqual([false, false]);
    expect(one.hold(40 * MB)).toBe(true);
    expect([two.mayHold(), two.hold(25 * MB), two.hold(24 * MB)]).toEqual([true, false, true]);
    expect([three.mayHold(), three.isHolding, turns.heldBytes]).toEqual([false, false, 64 * MB]);
    one.leave();
    expect([three.hold(40 * MB), turns.heldBytes]).toEqual([true, 64 * MB]);
    two.leave();
    three.leave();
    expect(turns.heldBytes).toBe(0);
  });

  test("all holders have 256 MB", () => {
    const turns = new Turns(setImmediate);
    const places = ["a", "b", "c", "d", "e"].map((name) => turns.placeOf(name));
    expect(places.map((place) => place.hold(60 * MB))).toEqual([true, true, true, true, false]);
    expect([places[4]?.hold(16 * MB), places[4]?.hold(16 * MB + 1)]).toEqual([true, false]);
    expect(turns.heldBytes).toBe(256 * MB);
  });
});

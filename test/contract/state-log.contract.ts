/** What a state remembers of the log. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { UnreachableError } from "../../src/lib/errors.ts";
import { withDriver } from "../../src/state/open.ts";
import { forgetSeen } from "../../src/state/facts.ts";
import { StateInUse, type StateUnderTest, SOON } from "./state-under-test.ts";

const sha256 = (digit: string): string => digit.repeat(64);

export function stateLogContract(name: string, create: () => Promise<StateUnderTest>): void {
  describe(`${name}: the entry of the log that was seen`, () => {
    let use: StateInUse;
    beforeEach(async () => {
      use = await StateInUse.open(await create());
    });
    afterEach(() => use.close());

    test("the newest one stays, also for gatekeepers that open later", async () => {
      const gatekeeper = await use.serve();
      expect(await gatekeeper.seen()).toBeNull();
      const first = { number: 9, sha256: sha256("a") };
      expect(await gatekeeper.see(first)).toEqual(first);
      // 10 is more than 9, though it comes first as a text.
      const second = { number: 10, sha256: sha256("b") };
      expect(await gatekeeper.see(second)).toEqual(second);
      expect(await gatekeeper.see(first)).toEqual(second);
      expect(await gatekeeper.see({ number: 10, sha256: sha256("c") })).toEqual(second);
      expect(await (await use.serve()).seen()).toEqual(second);
      await use.stop(gatekeeper);
      expect(await (await use.serve()).seen()).toEqual(second);
    });

    test("of many that are seen at once, the newest one stays", async () => {
      const gatekeepers = await Promise.all([use.serve(), use.serve(), use.serve()]);
      const numbers = Array.from({ length: 60 }, (_, at) => ((at * 37) % 60) + 1);
      await Promise.all(
        numbers.map((number, at) =>
          (gatekeepers[at % 3] as (typeof gatekeepers)[0]).see({ number, sha256: sha256("d") }),
        ),
      );
      for (const gatekeeper of gatekeepers) {
        expect(await gatekeeper.seen()).toEqual({ number: 60, sha256: sha256("d") });
      }
    });

    test("it can be forgotten", async () => {
      const gatekeeper = await use.serve();
      await gatekeeper.see({ number: 3, sha256: sha256("e") });
      const forget = () => withDriver(use.state.location, "use", forgetSeen);
      expect(await forget()).toEqual({ number: 3, sha256: sha256("e") });
      expect(await forget()).toBeNull();
      expect(await gatekeeper.seen()).toBeNull();
    });

    test("while the state does not answer, nothing is remembered by mistake", async () => {
      const gatekeeper = await use.serve();
      await gatekeeper.see({ number: 3, sha256: sha256("e") });
      await use.state.breakDown();
      await expect.poll(() => gatekeeper.trouble).not.toBeNull();
      await expect(gatekeeper.see({ number: 4, sha256: sha256("f") })).rejects.toThrow(
        UnreachableError,
      );
      await use.state.restore();
      await expect
        .poll(() => gatekeeper.seen().catch(() => null), SOON)
        .toEqual({
          number: 3,
          sha256: sha256("e"),
        });
    });
  });
}

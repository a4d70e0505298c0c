/** Many slow clients; and each broken promise is found. */
import { describe, expect, test } from "vitest";
import { AnswerReader } from "../../tools/faults/caller-answers.ts";
import { expectNothingLost } from "./short.ts";
import {
  readerEnd,
  senderEnd,
  type SlowClientView,
} from "../../tools/faults/slow-clients-crowd.ts";
import { keepsThroughput, slowClientFaults } from "../../tools/faults/slow-clients.ts";

const BODY = Buffer.from("right");

test("nothing is lost to slow clients", () => expectNothingLost(slowClientFaults));

describe("a loss is found:", () => {
  const heard = (text: string, isClosed: boolean, wanted = 1): SlowClientView => {
    const reader = new AnswerReader(() => false);
    let error: string | null = null;
    try {
      reader.push(Buffer.from(text));
    } catch (thrown) {
      error = String(thrown);
    }
    return { isClosed, reader, error, wanted };
  };
  const answer = (status: number, body: string): string =>
    `HTTP/1.1 ${status} X\r\ncontent-length: ${body.length}\r\n\r\n${body}`;

  test("less than half the throughput", () => {
    expect(keepsThroughput({ beside: 500, without: 1_000 })).toBe(true);
    expect(keepsThroughput({ beside: 499, without: 1_000 })).toBe(false);
  });

  test("a sender that hangs, or gets another answer than 408", () => {
    expect(senderEnd(heard("", true))).toEqual({ how: "cut off", failure: null });
    expect(senderEnd(heard(answer(408, "late"), true)).failure).toBeNull();
    expect(senderEnd(heard("", false)).failure).toMatch(/still connected/);
    expect(senderEnd(heard(answer(200, "right"), true)).failure).toMatch(/got 200/);
    expect(senderEnd(heard("SSH-2.0\r\n\r\n", true)).failure).toMatch(/No status line/);
  });

  test("a reader that hangs, or gets wrong bytes", () => {
    const whole = answer(200, "right");
    expect(readerEnd(heard(whole, true), BODY)).toEqual({ how: "answered", failure: null });
    expect(readerEnd(heard(whole.slice(0, -1), true), BODY).how).toBe("cut off");
    expect(readerEnd(heard(whole + whole, true, 3), BODY).how).toBe("cut off");
    expect(readerEnd(heard(whole, false), BODY).how).toBe("answered");
    expect(readerEnd(heard(whole.slice(0, -1), false), BODY).failure).toMatch(/still waits/);
    expect(readerEnd(heard(whole + whole, true), BODY).failure).toMatch(/2 answers/);
    expect(readerEnd(heard(answer(200, "wrong"), true), BODY).failure).toMatch(/wrong/);
    expect(readerEnd(heard(`${whole}right`, true, 3), BODY).how).toBe("cut off");
    expect(readerEnd(heard(`right${whole}`, true, 3), BODY).failure).toMatch(/No status line/);
  });
});

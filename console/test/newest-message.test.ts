/** Which of two records of a message a page shows. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Message } from "godwit-sdk";
import { newest } from "../src/messages/newest.ts";

const record = (sequence: number, body: string | null = "text", id = "msg_1"): Message => ({ id, sequence, body }) as Message;

const ROWS: readonly (readonly [sentence: string, known: Message | undefined, other: Message, isKnown: boolean])[] = [
  ["the first record", undefined, record(1), false],
  ["a later status", record(1), record(2), false],
  ["an earlier status that arrives late", record(2), record(1), true],
  ["the same status again", record(2), record(2), false],
  ["a redaction", record(2), record(2, null), false],
  ["a response from before a redaction", record(2, null), record(2), true],
  ["another message", record(9, null), record(1, "text", "msg_2"), false],
];
for (const [sentence, known, other, isKnown] of ROWS) test(sentence, () => assert.equal(newest(known, other), isKnown ? known : other));

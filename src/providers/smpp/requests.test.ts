import assert from "node:assert/strict";
import { test } from "node:test";
import { MAX_SEQUENCE, type Pdu } from "./pdu.ts";
import { Requests } from "./requests.ts";

const answerTo = (sequence: number): Pdu => ({ command: "enquire_link_resp", status: 0, sequence });
const never = (): void => undefined;

test("sequence numbers go to the end and around, and past those in use", async () => {
  const requests = new Requests(10, never, MAX_SEQUENCE - 2);
  const seen: number[] = [];
  const ask = () => requests.begin({ limitMs: 10_000 }, (sequence) => seen.push(sequence));
  const asked = [ask(), ask(), ask(), ask()];
  assert.deepEqual(seen, [MAX_SEQUENCE - 1, MAX_SEQUENCE, 1, 2]);
  requests.lose("over");
  for (const answer of await Promise.all(asked)) assert.equal(answer.kind, "lost");

  const again = new Requests(10, never, 0);
  const numbers: number[] = [];
  const one = again.begin({ limitMs: 10_000 }, (sequence) => numbers.push(sequence));
  const round = new Requests(10, never, MAX_SEQUENCE);
  void round.begin({ limitMs: 10_000 }, (sequence) => numbers.push(sequence));
  assert.deepEqual(numbers, [1, 1]);
  assert.ok(again.answer(answerTo(1)));
  assert.equal((await one).kind, "answer");
  round.lose("over");
});

test("an answer to nothing is told, and one to somebody who gave up goes where late ones go, once", async () => {
  const requests = new Requests(10, never);
  assert.equal(requests.answer(answerTo(5)), false);
  const late: number[] = [];
  const limit = new AbortController();
  const asked = requests.begin({ limitMs: 10_000, signal: limit.signal, late: ({ sequence }) => late.push(sequence) }, never);
  limit.abort();
  assert.equal((await asked).kind, "given up");
  assert.equal(requests.answer(answerTo(1)), true);
  assert.equal(requests.answer(answerTo(1)), false);
  assert.deepEqual(late, [1]);
});

test("who is given up before it begins is not written", async () => {
  const requests = new Requests(10, never);
  const asked = requests.begin({ limitMs: 10_000, signal: AbortSignal.abort() }, () => assert.fail("it was written"));
  assert.equal((await asked).kind, "unsent");
});

test("silence again and again is reported, and an answer in between is not silence", async () => {
  let isSilent = false;
  const requests = new Requests(2, () => (isSilent = true));
  assert.equal((await requests.begin({ limitMs: 1 }, never)).kind, "silence");
  const answered = requests.begin({ limitMs: 10_000 }, never);
  requests.answer(answerTo(2));
  await answered;
  await requests.begin({ limitMs: 1 }, never);
  assert.equal(isSilent, false);
  await requests.begin({ limitMs: 1 }, never);
  assert.equal(isSilent, true);
});

/** Compares the messages in the database with the submissions that the witness recorded. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import type { Queryable } from "../../src/database/database.ts";
import { uuidFromText } from "../../src/lib/uuid.ts";
import { encodeId, toId } from "../../src/model/id.ts";
import { completeDetail, type Detail, type StoredDetail } from "../../src/events/detail.ts";
import { until } from "../support/expect.ts";
import { STATUS_AFTER } from "../support/tables.ts";
import type { Sent } from "../support/sending.ts";
import type { Line, Witness } from "./witness.ts";
import type { Scene } from "./dispatching.ts";

type StoredEntry = Omit<Entry, "detail"> & { uuid: string; detail: StoredDetail | null; record: string | null };
export type Entry = { type: string; sequence: number; isEvent: boolean; isIgnored: boolean; status: string | null; detail: Detail };

export type MessageTrace = {
  id: string;
  /** The client_reference. */
  key: string | null;
  status: string;
  sequence: number;
  attempts: number;
  errorCode: string | null;
  timeline: Entry[];
  /** The submissions of the message that the witness recorded. */
  lines: Line[];
};

type Traced = { db: Queryable; witness?: Witness };

const rowsOf = <T>(db: Queryable, text: string): Promise<T[]> => db.rows<T>({ name: `trace_${randomUUID()}`, text, values: [] });

type FoundMessage = Omit<MessageTrace, "id" | "timeline" | "lines"> & { uuid: string };

/** All messages, with their timelines and the submissions that the witness recorded. One statement reads all, because a receipt may change a
 *  message meanwhile. */
export async function tracesOf({ db, witness }: Traced): Promise<MessageTrace[]> {
  const [found] = await rowsOf<{ messages: FoundMessage[] | null; entries: StoredEntry[] | null }>(
    db,
    `select (select json_agg(json_build_object('uuid', id, 'key', client_reference, 'status', status, 'sequence', sequence,
                                               'attempts', attempts, 'errorCode', error ->> 'code') order by id)
               from messages) as messages,
            (select json_agg(json_build_object('uuid', message_id, 'type', type, 'sequence', sequence, 'isEvent', record is not null,
                                               'isIgnored', is_ignored, 'status', ${STATUS_AFTER},
                                               'detail', detail, 'record', record) order by id)
               from events e) as entries`,
  );
  const timelines = Map.groupBy(found?.entries ?? [], ({ uuid }) => uuid);
  const lines = Map.groupBy(witness?.lines ?? [], ({ id }) => id);
  return (found?.messages ?? []).map(({ uuid, ...message }) => {
    const id = encodeId("msg", toId("msg", uuidFromText(uuid)));
    const timeline = (timelines.get(uuid) ?? []).map(({ uuid: _uuid, detail, record, ...entry }) => ({
      ...entry,
      detail: completeDetail(detail, record),
    }));
    return { ...message, id, timeline, lines: lines.get(id) ?? [] };
  });
}

export const isResend = ({ detail }: Entry): boolean => detail.reason === "on_unknown: resend";
export const isUnknown = ({ type }: Entry): boolean => type === "attempt.unknown";

const textOf = (trace: MessageTrace): string => JSON.stringify(trace, null, 1);
const isAttempt = ({ type, isEvent }: Entry): boolean => type === "message.sending" && isEvent;
const isRefused = ({ plan }: Line): boolean => plan.response === "refused";

/** The sequence numbers are 1, 2, 3 … without gaps, and the message has the last one. */
function assertSequence(trace: MessageTrace): void {
  const sequences = trace.timeline.filter(({ isEvent }) => isEvent).map(({ sequence }) => sequence);
  const counted = Array.from({ length: trace.sequence }, (_, index) => index + 1);
  assert.deepEqual(
    sequences.toSorted((a, b) => a - b),
    counted,
    `the sequence has gaps or duplicates: ${textOf(trace)}`,
  );
}

/** Every submitted attempt was stored first, and no attempt was submitted twice. */
function assertWrittenFirst(trace: MessageTrace): void {
  const written = trace.timeline.filter(isAttempt).map(({ detail }) => detail.attempt?.number);
  assert.deepEqual(
    written,
    Array.from({ length: trace.attempts }, (_, index) => index + 1),
    `the attempts are not numbered from 1: ${textOf(trace)}`,
  );
  const seen = trace.lines.map(({ attempt }) => attempt);
  assert.equal(new Set(seen).size, seen.length, `an attempt was submitted twice: ${textOf(trace)}`);
  for (const attempt of seen) assert.ok(written.includes(attempt), `attempt ${attempt} was submitted and is not stored: ${textOf(trace)}`);
}

/** A further attempt follows only if the carrier refused the last one, if the last one was not submitted, or if the policy is `resend`. */
function assertRetriesJustified(trace: MessageTrace): void {
  const { timeline } = trace;
  for (const [index, entry] of timeline.entries()) {
    const number = entry.detail.attempt?.number ?? 0;
    if (!isAttempt(entry) || number === 1) continue;
    const before = timeline.slice(0, index).findLast(({ type, isEvent }) => type === "message.queued" && isEvent);
    const last = trace.lines.find(({ attempt }) => attempt === number - 1);
    assert.ok(before !== undefined, textOf(trace));
    if (isResend(before)) continue;
    // A message that was not submitted is returned to the queue as one that was throttled.
    assert.match(before.detail.attempt?.outcome ?? "", /^(refused|throttled)$/, `attempt ${number} has no reason: ${textOf(trace)}`);
    assert.ok(
      last === undefined || (isRefused(last) && before.detail.attempt?.outcome === "refused"),
      `attempt ${number} was made although the carrier had not refused the previous one: ${textOf(trace)}`,
    );
  }
}

/** With the policy `fail` a carrier accepts a message at most once; with `resend` once more for each resend in the timeline. */
function assertNotTwice(trace: MessageTrace, policy: "fail" | "resend"): void {
  const resends = trace.timeline.filter(isResend).length;
  const accepted = trace.lines.filter((line) => !isRefused(line)).length;
  assert.ok(accepted <= 1 + resends, `the carrier accepted the message ${accepted} times: ${textOf(trace)}`);
  if (policy === "fail") assert.equal(resends, 0, textOf(trace));
}

/** The status is the last one that the message can reach, and agrees with the responses and receipts of the carrier. */
function assertEnd(trace: MessageTrace): void {
  const { status, lines, timeline } = trace;
  // The carrier id of the message is known from a response, also from a late one.
  const carrierIds = new Set(timeline.map(({ detail }) => detail.attempt?.provider_message_id ?? detail.receipt?.provider_message_id));
  const isNamedBy = (line: Line): boolean => line.plan.isNamed || carrierIds.has(line.providerMessageId);
  const received = lines.some((line) => line.isReceiptStored && isNamedBy(line));
  if (status === "delivered") assert.ok(received, `no receipt reported the delivery: ${textOf(trace)}`);
  else assert.ok(!received, `an acknowledged receipt is lost: ${textOf(trace)}`);
  if (status === "sent")
    assert.ok(
      lines.some(({ plan }) => plan.response === "accepted"),
      `the carrier did not accept the message: ${textOf(trace)}`,
    );
  if (status === "failed") {
    assert.equal(trace.errorCode, "outcome_unknown", textOf(trace));
    assert.ok(timeline.some(isUnknown), `the message was not held: ${textOf(trace)}`);
  }
  assert.ok(["delivered", "sent", "failed"].includes(status), `the message is not finished: ${textOf(trace)}`);
}

type Count = { status: string; error_code: string; messages: number; segments: number };

/** The usage counts equal the counts of the messages. */
async function assertCounted({ db }: Scene): Promise<void> {
  const expected = await rowsOf<Count>(
    db,
    `select status, coalesce(error ->> 'code', '') as error_code, count(*)::integer as messages, sum(segments_count)::integer as segments
       from messages
      group by 1, 2
      order by 1, 2`,
  );
  const counted = await rowsOf<Count>(
    db,
    `select status, error_code, sum(messages)::integer as messages, sum(segments)::integer as segments
       from (select status, error_code, messages, segments from usage_hours
             union all
             select status, error_code, messages, segments from usage_changes) counted
      group by 1, 2
     having sum(messages) <> 0 or sum(segments) <> 0
      order by 1, 2`,
  );
  assert.deepEqual(counted, expected);
}

/** No receipt stays parked once its message is known, because it would be lost. */
async function assertNoReceiptForgotten({ db }: Scene): Promise<void> {
  let known: unknown[] = [];
  const isEmpty = async (): Promise<boolean> => {
    known = await rowsOf(
      db,
      `select p.provider_message_id as name, p.receipt, m.status
         from parked_receipts p
         join provider_references r using (link, provider_message_id)
         join messages m on m.id = r.message_id`,
    );
    return known.length === 0;
  };
  await until(() => `the parked receipts are processed; there are ${JSON.stringify(known)}`, isEmpty);
}

/** Asserts the invariants of every delivery, and returns the traces for further assertions. */
export async function assertAccounted(scene: Scene, count: number): Promise<MessageTrace[]> {
  await assertNoReceiptForgotten(scene);
  const traces = await tracesOf(scene);
  assert.equal(traces.length, count, "the number of messages has changed");
  const known = new Set(traces.map(({ id }) => id));
  assert.deepEqual(
    scene.witness.lines.filter(({ id }) => !known.has(id)),
    [],
  );
  for (const trace of traces) {
    assertSequence(trace);
    assertWrittenFirst(trace);
    assertRetriesJustified(trace);
    assertNotTwice(trace, scene.onUnknown.policy);
    assertEnd(trace);
  }
  assert.deepEqual(await rowsOf(scene.db, "select message_id from delivery_queue"), []);
  await assertCounted(scene);
  return traces;
}

/** Asserts that each request has one message, which its response names; that no message was submitted twice; and that each message has
 *  reached its last status, with one event for every transition. For recipients whose carrier accepts every message. */
export function assertSubmittedOnce(traces: readonly MessageTrace[], sent: readonly Sent[]): void {
  const byKey = new Map(traces.map((trace) => [trace.key, trace]));
  assert.equal(byKey.size, traces.length, "no request has two messages");
  for (const { key, id } of sent) assert.equal(byKey.get(key)?.id, id, `the message of ${key}`);
  for (const trace of traces) {
    const { status, timeline, attempts, errorCode } = trace;
    const transitions = timeline.filter(({ isEvent, isIgnored }) => isEvent && !isIgnored);
    assert.deepEqual(
      transitions.map(({ sequence }) => sequence),
      Array.from({ length: trace.sequence }, (_, index) => index + 1),
      textOf(trace),
    );
    assert.equal(transitions.at(-1)?.status, status, textOf(trace));
    assert.equal(attempts, 1, textOf(trace));
    assert.ok(["delivered", "sent", "failed"].includes(status), textOf(trace));
    // Only a message with an unknown outcome was held, and only such a message fails.
    assert.deepEqual([errorCode, timeline.some(isUnknown)], status === "failed" ? ["outcome_unknown", true] : [null, false], textOf(trace));
  }
}

/** `delivered: 12, failed: 3`, for the output of the test. */
export function tally(traces: readonly MessageTrace[]): string {
  const statuses = Map.groupBy(traces, ({ status }) => status);
  const retried = traces.filter(({ attempts }) => attempts > 1).length;
  const held = traces.filter(({ timeline }) => timeline.some(isUnknown)).length;
  const parts = Array.from(statuses, ([status, group]) => `${status}: ${group.length}`).toSorted();
  return `${parts.join(", ")}; held: ${held}, retried: ${retried}`;
}

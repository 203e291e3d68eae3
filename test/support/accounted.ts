/** Holds what the database says against what the witness saw. */
import assert from "node:assert/strict";
import { encodeId, type MessageId } from "../../src/lib/id.ts";
import type { Detail } from "../../src/events/timeline.ts";
import { until } from "./expect.ts";
import type { Line, Witness } from "./fakes/witness.ts";
import type { Scene } from "./dispatching.ts";

export type Entry = { type: string; sequence: number; isEvent: boolean; isIgnored: boolean; detail: Detail };

export type Story = {
  id: string;
  status: string;
  sequence: number;
  attempts: number;
  errorCode: string | null;
  timeline: Entry[];
  /** What the witness saw of it. */
  lines: Line[];
};

type MessageRow = {
  id: MessageId;
  status: string;
  sequence: number;
  attempts: number;
  error_code: string | null;
};
type EntryRow = { message_id: MessageId; type: string; sequence: number; is_event: boolean; is_ignored: boolean; detail: Detail | null };

/** All messages, with their timelines and what was seen of them outside. */
export async function storiesOf(scene: Scene): Promise<Story[]> {
  const messages = await scene.rows<MessageRow>(
    "select id, status, sequence, attempts, error ->> 'code' as error_code from messages order by id",
  );
  const entries = await scene.rows<EntryRow>(
    "select message_id, type, sequence, record is not null as is_event, is_ignored, detail from events order by id",
  );
  const timelines = Map.groupBy(entries, ({ message_id: id }) => encodeId("msg", id));
  const lines = Map.groupBy(scene.witness.lines, ({ id }) => id);
  return messages.map((row) => {
    const id = encodeId("msg", row.id);
    return {
      id,
      status: row.status,
      sequence: row.sequence,
      attempts: row.attempts,
      errorCode: row.error_code,
      timeline: (timelines.get(id) ?? []).map((entry) => ({
        type: entry.type,
        sequence: entry.sequence,
        isEvent: entry.is_event,
        isIgnored: entry.is_ignored,
        detail: entry.detail ?? {},
      })),
      lines: lines.get(id) ?? [],
    };
  });
}

export const isResend = ({ detail }: Entry): boolean => detail.reason === "on_unknown: resend";
export const isUnknown = ({ type }: Entry): boolean => type === "attempt.unknown";

const tell = (story: Story): string => JSON.stringify(story, null, 1);
const isAttempt = ({ type, isEvent }: Entry): boolean => type === "message.sending" && isEvent;
const isRefused = ({ plan }: Line): boolean => plan.answer === "refused";

/** 1, 2, 3 … and the message stands at the last one. */
function assertSequence(story: Story): void {
  const sequences = story.timeline.filter(({ isEvent }) => isEvent).map(({ sequence }) => sequence);
  const counted = Array.from({ length: story.sequence }, (_, index) => index + 1);
  assert.deepEqual(
    sequences.toSorted((a, b) => a - b),
    counted,
    `the sequence has gaps or doubles: ${tell(story)}`,
  );
}

/** Nothing left that was not on record, and no try left twice. */
function assertWrittenFirst(story: Story): void {
  const written = story.timeline.filter(isAttempt).map(({ detail }) => detail.attempt?.number);
  assert.deepEqual(
    written,
    Array.from({ length: story.attempts }, (_, index) => index + 1),
    `its tries are not counted: ${tell(story)}`,
  );
  const seen = story.lines.map(({ attempt }) => attempt);
  assert.equal(new Set(seen).size, seen.length, `one try was handed over twice: ${tell(story)}`);
  for (const attempt of seen) assert.ok(written.includes(attempt), `try ${attempt} left and is not on record: ${tell(story)}`);
}

/** After a try there is another only if the carrier had refused that one, if it never left, or if the policy wanted it so. */
function assertRetriesJustified(story: Story): void {
  const { timeline } = story;
  for (const [place, entry] of timeline.entries()) {
    const number = entry.detail.attempt?.number ?? 0;
    if (!isAttempt(entry) || number === 1) continue;
    const before = timeline.slice(0, place).findLast(({ type, isEvent }) => type === "message.queued" && isEvent);
    const last = story.lines.find(({ attempt }) => attempt === number - 1);
    assert.ok(before !== undefined, tell(story));
    if (isResend(before)) continue;
    assert.equal(before.detail.attempt?.outcome, "refused", `try ${number} has no reason: ${tell(story)}`);
    assert.ok(
      last === undefined || isRefused(last),
      `try ${number} came though the carrier had not refused the one before: ${tell(story)}`,
    );
  }
}

/** Under `fail` a carrier has a message once at most; under `resend` once more for each time the timeline says so. */
function assertNotTwice(story: Story, policy: "fail" | "resend"): void {
  const resends = story.timeline.filter(isResend).length;
  const taken = story.lines.filter((line) => !isRefused(line)).length;
  assert.ok(taken <= 1 + resends, `the carrier has it ${taken} times: ${tell(story)}`);
  if (policy === "fail") assert.equal(resends, 0, tell(story));
}

/** It has an end, and the end is what the carrier said. */
function assertEnd(story: Story): void {
  const { status, lines, timeline } = story;
  // The carrier's name for it is known from an answer, be it a late one.
  const names = new Set(timeline.map(({ detail }) => detail.attempt?.provider_message_id ?? detail.receipt?.provider_message_id));
  const isNamedBy = (line: Line): boolean => line.plan.isNamed || names.has(line.providerMessageId);
  const received = lines.some((line) => line.isReceiptTaken && isNamedBy(line));
  if (status === "delivered") assert.ok(received, `nobody said that it was delivered: ${tell(story)}`);
  else assert.ok(!received, `its receipt was acknowledged, and is lost: ${tell(story)}`);
  if (status === "sent")
    assert.ok(
      lines.some(({ plan }) => plan.answer === "accepted"),
      `nobody took it: ${tell(story)}`,
    );
  if (status === "failed") {
    assert.equal(story.errorCode, "outcome_unknown", tell(story));
    assert.ok(timeline.some(isUnknown), `it was not held: ${tell(story)}`);
  }
  assert.ok(["delivered", "sent", "failed"].includes(status), `it has no end: ${tell(story)}`);
}

type Count = { status: string; error_code: string; messages: number; segments: number };

/** The counts are those of the messages. */
async function assertCounted(scene: Scene): Promise<void> {
  const there = await scene.rows<Count>(
    `select status, coalesce(error ->> 'code', '') as error_code, count(*)::integer as messages, sum(segments_count)::integer as segments
       from messages
      group by 1, 2
      order by 1, 2`,
  );
  const counted = await scene.rows<Count>(
    `select status, error_code, sum(messages)::integer as messages, sum(segments)::integer as segments
       from (select status, error_code, messages, segments from usage_hours
             union all
             select status, error_code, messages, segments from usage_changes) counted
      group by 1, 2
     having sum(messages) <> 0 or sum(segments) <> 0
      order by 1, 2`,
  );
  assert.deepEqual(counted, there);
}

/** A receipt whose message is known does not stay parked: that would be a receipt lost. */
async function assertNothingForgotten(scene: Scene): Promise<void> {
  let known: unknown[] = [];
  const isEmpty = async (): Promise<boolean> => {
    known = await scene.rows(
      `select p.provider_message_id as name, p.receipt, m.status
         from parked_receipts p
         join provider_references r using (link, provider_message_id)
         join messages m on m.id = r.message_id`,
    );
    return known.length === 0;
  };
  await until("parked receipts are taken up", isEmpty).catch(() => assert.fail(`parked for good: ${JSON.stringify(known)}`));
}

/** Everything that must hold, whatever happened. Returns the stories, for what must hold besides. */
export async function assertAccounted(scene: Scene, count: number): Promise<Story[]> {
  await assertNothingForgotten(scene);
  const stories = await storiesOf(scene);
  assert.equal(stories.length, count, "a message is gone, or one came from nowhere");
  assertNoStrangers(scene.witness, stories);
  for (const story of stories) {
    assertSequence(story);
    assertWrittenFirst(story);
    assertRetriesJustified(story);
    assertNotTwice(story, scene.onUnknown.policy);
    assertEnd(story);
  }
  assert.deepEqual(await scene.rows("select message_id from delivery_queue"), []);
  await assertCounted(scene);
  return stories;
}

function assertNoStrangers({ lines }: Witness, stories: readonly Story[]): void {
  const known = new Set(stories.map(({ id }) => id));
  assert.deepEqual(
    lines.filter(({ id }) => !known.has(id)),
    [],
  );
}

/** `delivered: 12, failed: 3`, for the one who reads the test's output. */
export function tally(stories: readonly Story[]): string {
  const statuses = Map.groupBy(stories, ({ status }) => status);
  const retried = stories.filter(({ attempts }) => attempts > 1).length;
  const held = stories.filter(({ timeline }) => timeline.some(isUnknown)).length;
  const parts = Array.from(statuses, ([status, group]) => `${status}: ${group.length}`).toSorted();
  return `${parts.join(", ")}; held: ${held}, tried again: ${retried}`;
}

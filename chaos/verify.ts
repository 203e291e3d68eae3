/** Checks every promise of the service against the records of the clients, the carrier, the receivers, the readers and the API. */
import type { Clients, SentRequest } from "./clients.ts";
import type { Cluster, Endpoint } from "./cluster.ts";
import type { Evidence, EventRecord, MessageRecord } from "./evidence.ts";
import { verdict, type Verdict } from "./verdict.ts";
import { checkDatabase, eventsOfWrongClock } from "./verify-database.ts";

const ENDED = new Set(["delivered", "read", "undelivered", "failed", "expired", "canceled"]);
const TAKEN = new Set(["sent", "delivered", "read", "undelivered"]);
// The nodes compare with the clock of the database, whose error is part of a second.
const EARLY_MS = 1_000;

export async function verify(cluster: Cluster, clients: Clients, evidence: Evidence): Promise<Verdict[]> {
  return [
    ...checkRequests(clients, evidence),
    ...checkCarrier(cluster, clients, evidence),
    checkSequences(evidence),
    checkBatches(clients, evidence),
    ...(await checkDatabase(cluster)),
    ...(await checkEvents(cluster, evidence)),
    checkUsage(evidence),
    checkQueue(evidence),
  ];
}

const accepted = ({ replies }: SentRequest): string[] => replies.filter(({ status }) => status === 202).map(({ text }) => text);

/** The ids of the messages that the response accepts. */
function acceptedIds(request: SentRequest): string[] {
  const [text] = accepted(request);
  if (text === undefined) return [];
  const { id, results } = JSON.parse(text) as { id: string; results?: { message_id: string | null }[] };
  return results === undefined ? [id] : results.flatMap(({ message_id: each }) => each ?? []);
}

function checkRequests({ requests, cancellations, optOuts }: Clients, { messages }: Evidence): Verdict[] {
  const byReference = Map.groupBy(messages.values(), ({ reference }) => reference);
  const isExpected = ({ status, json }: SentRequest["replies"][number]): boolean =>
    status === 202 || (status === 422 && json["code"] === "recipient_opted_out");
  return [
    verdict("every request gets a final response", [...requests, ...cancellations, ...optOuts], (each) => {
      const isFinal = "replies" in each ? each.replies.length > 0 : each.isFinal;
      return isFinal ? undefined : JSON.stringify(each);
    }),
    verdict("no request is refused without a reason", requests, ({ key, replies }) => {
      const odd = replies.find((reply) => !isExpected(reply));
      return odd && `key ${key}: ${odd.status} ${odd.text.slice(0, 200)}`;
    }),
    verdict("no accepted message is lost", requests.flatMap(acceptedIds), (id) => (messages.has(id) ? undefined : id)),
    verdict("one key makes one message", requests.flatMap(expectedCounts), ({ reference, count }) => {
      const found = byReference.get(reference)?.length ?? 0;
      return found === count ? undefined : `${reference}: ${found} messages`;
    }),
    verdict(
      "a replay has the same bytes",
      requests.filter((request) => accepted(request).length > 1),
      (request) => (new Set(accepted(request)).size === 1 ? undefined : `key ${request.key}`),
    ),
    verdict("every message ends", messages.values(), ({ id, status }) => (ENDED.has(status) ? undefined : `${id} is ${status}`)),
  ];
}

/** The number of messages that each reference of a request must have. A request without a final response may have made them or not. */
function expectedCounts(request: SentRequest): { reference: string; count: number }[] {
  if (request.replies.length === 0) return [];
  return request.references.map((reference) => ({ reference, count: accepted(request).length > 0 ? 1 : 0 }));
}

function checkCarrier({ carrier }: Cluster, { requests, cancellations }: Clients, { messages }: Evidence): Verdict[] {
  const taken = carrier.submissions.filter(({ outcome }) => outcome !== "refused");
  const byId = Map.groupBy(taken, ({ id }) => id);
  const scheduled = requests.filter(({ sendAtMs }) => sendAtMs !== undefined);
  return [
    verdict("no message is at the carrier twice", byId, ([id, all]) => (all.length === 1 ? undefined : `${id}: ${all.length} times`)),
    verdict("the carrier gets only accepted messages", byId.keys(), (id) => (messages.has(id) ? undefined : id)),
    verdict(
      "a message that is sent is at the carrier",
      messages.values().filter(({ status }) => TAKEN.has(status)),
      ({ id }) => (byId.has(id) ? undefined : id),
    ),
    verdict(
      "a canceled message is not at the carrier",
      cancellations.filter(({ isCanceled }) => isCanceled),
      ({ id }) => (byId.has(id) || messages.get(id)?.status !== "canceled" ? `${id} is ${messages.get(id)?.status}` : undefined),
    ),
    verdict("a scheduled message is not sent early", scheduled, (request) => {
      const early = acceptedIds(request).flatMap((id) => byId.get(id) ?? []);
      const byMs = (request.sendAtMs ?? 0) - EARLY_MS - (early[0]?.atMs ?? Infinity);
      return byMs > 0 ? `${early[0]?.id}: ${Math.round(byMs + EARLY_MS)} ms early` : undefined;
    }),
    checkReceipts(carrier.acknowledged, messages),
  ];
}

/** A message has the status of its highest acknowledged receipt. A message that failed with an unknown outcome becomes delivered by a
 *  receipt, and not undelivered. */
function checkReceipts(acknowledged: Cluster["carrier"]["acknowledged"], messages: Evidence["messages"]): Verdict {
  const byId = Map.groupBy(acknowledged, ({ id }) => id);
  return verdict("no acknowledged receipt is lost", byId, ([id, receipts]) => {
    const rank = ["delivered", "undelivered", "sent"].find((status) => receipts.some((receipt) => receipt.status === status));
    const { status, errorCode } = messages.get(id) ?? {};
    const isRight = rank === "sent" || rank === status || (rank === "undelivered" && errorCode === "outcome_unknown");
    return isRight ? undefined : `${id} is ${status}, the receipt says ${rank}`;
  });
}

/** The events of a message are numbered from 1 to the sequence of the message. */
function checkSequences({ messages, events }: Evidence): Verdict {
  const numbers = new Map<string, number[]>();
  for (const { type, messageId, sequence } of events)
    if (messageId !== undefined && type.startsWith("message.")) numbers.set(messageId, [...(numbers.get(messageId) ?? []), sequence]);
  return verdict("a timeline has no gap", messages.values(), ({ id, sequence }: MessageRecord) => {
    const found = (numbers.get(id) ?? []).toSorted((one, other) => one - other);
    const isWhole = found.length === sequence && found.every((number, index) => number === index + 1);
    return isWhole ? undefined : `${id}: ${found.join()} of ${sequence}`;
  });
}

function checkBatches({ requests }: Clients, { events }: Evidence): Verdict {
  const completed = Map.groupBy(
    events.filter(({ type }) => type === "batch.completed"),
    ({ batchId }) => batchId,
  );
  const ids = requests.filter(({ kind }) => kind === "batch").flatMap((batch) => accepted(batch).slice(0, 1));
  return verdict("a batch is completed once", ids, (text) => {
    const { id } = JSON.parse(text) as { id: string };
    const count = completed.get(id)?.length ?? 0;
    return count === 1 ? undefined : `${id}: ${count} times`;
  });
}

async function checkEvents(cluster: Cluster, { events }: Evidence): Promise<Verdict[]> {
  const { steady, recovered, readers } = cluster;
  const outOfReach = await eventsOfWrongClock(cluster);
  const missing =
    (has: ReadonlySet<string>) =>
    ({ id, type }: EventRecord): string | undefined =>
      has.has(id) ? undefined : `${id} ${type}`;
  const wanted = ({ wants }: Endpoint): EventRecord[] => events.filter(({ type }) => wants(type));
  return [
    verdict(`every event is at the endpoint ${steady.receiver.path}`, wanted(steady), missing(steady.receiver.acknowledged)),
    verdict(
      `every event is at the endpoint ${recovered.receiver.path}`,
      wanted(recovered).filter(({ id }) => !outOfReach.has(id)),
      missing(recovered.receiver.acknowledged),
    ),
    ...readers.map((reader) => verdict(`every event is streamed by ${reader.node.name}`, events, missing(reader.ids))),
    {
      promise: "every webhook is signed",
      checked: steady.receiver.calls + recovered.receiver.calls,
      violations: [steady, recovered].flatMap(({ receiver }) => receiver.badSignatures),
    },
  ];
}

/** The counts of usage equal those of the messages. */
function checkUsage({ messages, usage }: Evidence): Verdict {
  const { by_status: byStatus, segments } = usage["totals"] as { by_status: Record<string, number>; segments: number };
  const found = Map.groupBy(messages.values(), ({ status }) => status);
  const statuses = new Set([...Object.keys(byStatus), ...found.keys()]);
  const counts = verdict("usage counts every message once", statuses, (status) => {
    const [counted, there] = [byStatus[status] ?? 0, found.get(status)?.length ?? 0];
    return counted === there ? undefined : `${status}: ${counted} counted, ${there} messages`;
  });
  const sum = messages.values().reduce((total, each) => total + each.segments, 0);
  const violations = sum === segments ? [] : [`${segments} segments counted, ${sum} in messages`];
  return { ...counts, violations: [...counts.violations, ...violations] };
}

function checkQueue({ queue }: Evidence): Verdict {
  return verdict("no message waits at the end", ["scheduled", "queued", "sending"], (status) =>
    queue[status] === 0 ? undefined : `${String(queue[status])} ${status}`,
  );
}

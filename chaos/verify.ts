/** Checks every promise of the service against the records of the clients, the carrier, the receivers, the readers and the API. */
import { accepted, acceptedIds, type Clients, type SentRequest } from "./clients.ts";
import type { Cluster, Endpoint } from "./cluster.ts";
import type { Held } from "./database.ts";
import type { Evidence, EventRecord, MessageRecord } from "./evidence.ts";
import { verdict, type Verdict } from "./verdict.ts";
import { CarrierEvidence } from "./verify-carriers.ts";
import { checkDatabase, eventsOfWrongClock, optOutTimes, unknownMessages } from "./verify-database.ts";

const ENDED = new Set(["delivered", "read", "undelivered", "failed", "expired", "canceled"]);

/** The promises, and figures about them. */
export type Verification = { verdicts: Verdict[]; figures: Record<string, number> };

export async function verify(
  cluster: Cluster,
  clients: Clients,
  { evidence, locks }: { evidence: Evidence; locks: readonly Held[] },
): Promise<Verification> {
  const carrier = new CarrierEvidence(cluster, clients, evidence);
  const verdicts = [
    ...checkRequests(clients, evidence),
    ...carrier.checkSubmissions(),
    carrier.checkReceipts(),
    carrier.checkUnknown(await unknownMessages(cluster)),
    carrier.checkLocks(locks),
    checkSequences(evidence),
    checkBatches(clients, evidence),
    ...(await checkDatabase(cluster)),
    ...(await checkEvents(cluster, evidence)),
    checkUsage(evidence),
    checkQueue(evidence),
  ];
  carrier.measureOptOuts(await optOutTimes(cluster));
  return { verdicts, figures: carrier.figures };
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

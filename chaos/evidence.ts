/** Everything that the promises are checked against: the records of the API at the end of a run. */
import type { Cluster } from "./cluster.ts";
import type { Json } from "./api.ts";

export type MessageRecord = {
  id: string;
  status: string;
  errorCode: string;
  reference: string;
  recipient: string;
  sequence: number;
  segments: number;
};
export type EventRecord = { id: string; type: string; messageId: string | undefined; sequence: number; batchId: string | undefined };

export type Evidence = { messages: Map<string, MessageRecord>; events: EventRecord[]; usage: Json; queue: Json };

// Messages of a node whose clock was shifted lie some hours off.
const USAGE_MARGIN_MS = 12 * 3_600_000;

export async function collectEvidence({ api }: Cluster): Promise<Evidence> {
  const messages = new Map<string, MessageRecord>();
  for await (const record of api.list("/v1/messages")) {
    const { id, status, error, client_reference: reference, recipient, sequence, segments } = record;
    messages.set(String(id), {
      id: String(id),
      status: String(status),
      errorCode: (error as { code: string } | null)?.code ?? "",
      reference: String(reference),
      recipient: String(recipient),
      sequence: Number(sequence),
      segments: Number((segments as Json | null)?.["count"] ?? 0),
    });
  }
  const events: EventRecord[] = [];
  for await (const { id, type, data } of api.list("/v1/events")) {
    const { message, batch, sequence } = data as { message?: Json; batch?: Json; sequence?: number };
    events.push({
      id: String(id),
      type: String(type),
      messageId: message === undefined ? undefined : String(message["id"]),
      batchId: batch === undefined ? undefined : String(batch["id"]),
      sequence: sequence ?? 0,
    });
  }
  const time = (offsetMs: number): string => encodeURIComponent(new Date(Date.now() + offsetMs).toISOString());
  const range = `created_after=${time(-USAGE_MARGIN_MS)}&created_before=${time(USAGE_MARGIN_MS)}`;
  const usage = await api.require({ method: "GET", path: `/v1/usage?interval=day&${range}` });
  return { messages, events, usage, queue: await api.require({ method: "GET", path: "/v1/queue" }) };
}

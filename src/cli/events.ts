/** godwit events: lists and shows events, and sends them to webhook endpoints again, through the API of a running service. */
import { TYPE_PATTERNS } from "../events/event.ts";
import { ApiClient, LIST_FLAGS, neededWord, pathOf, printList, readTime, type ApiRecord } from "./client.ts";
import { textFlag, UsageError, type Command, type Input } from "./command.ts";
import { eventSubject } from "./event-line.ts";
import { print } from "./output.ts";

const PATH = "/v1/events";

export const events: Command = {
  name: "events",
  about: [
    "Shows the stored events of the environment of the API key, through the HTTP API of a running service, with a key that has the scope events:read. godwit listen follows new events.",
    "resend makes one more attempt for each webhook delivery of an event, also for those that have succeeded, or for one endpoint with --endpoint. It needs the scopes webhooks:read and webhooks:write. deliveries shows the results.",
  ],
  usage: [
    "events list [flags]",
    "events get EVENT_ID [--json]",
    "events deliveries EVENT_ID [--json]",
    "events resend EVENT_ID [--endpoint ENDPOINT_ID] [--json]",
  ],
  flags: {
    type: { type: "string", value: "TYPE", choices: TYPE_PATTERNS, help: "only events of this type or group" },
    message: { type: "string", value: "MESSAGE_ID", help: "only events of this message" },
    since: { type: "string", value: "TIME", help: "only events after this time: 2h for the last two hours, or 2030-01-31T09:00:00Z" },
    until: { type: "string", value: "TIME", help: "only events before this time" },
    endpoint: { type: "string", value: "ENDPOINT_ID", help: "resend to this endpoint only" },
    ...LIST_FLAGS,
  },
  settings: "client",
  hasTables: true,
  examples: [
    ["Opt-outs of the last week:", "godwit events list --type recipient.opted_out --since 7d --all"],
    ["Send an event to all its endpoints again:", "godwit events resend evt_01k9zs3v8mf4tb2xg1qj6n0d5c"],
  ],
  async run(input) {
    const { flags, words } = input;
    if (words[0] === "list") {
      const query = {
        type: textFlag(flags, "type"),
        message_id: textFlag(flags, "message"),
        created_after: readTime(flags, "since"),
        created_before: readTime(flags, "until"),
      };
      return printList(input, { path: PATH, query, toRow });
    }
    const path = pathOf(PATH, neededWord(input, "the event by its id, evt_…"));
    if (words[0] === "get") return print(flags, await new ApiClient(flags).get(path));
    if (words[0] === "deliveries") return print(flags, await readDeliveries(new ApiClient(flags), path), toDeliveryRow);
    return resend(input, path);
  },
};

type Delivery = { id: string; endpoint_id: string; event_type: string; status: string; attempts: readonly Attempt[] };
type Attempt = { response_status: number | null; error: string | null };

const readDeliveries = async (client: ApiClient, path: string): Promise<readonly Delivery[]> =>
  ((await client.get(`${path}/deliveries`)) as { data?: readonly Delivery[] }).data ?? [];

function toDeliveryRow({ id, endpoint_id, status, attempts }: Delivery): object {
  const { response_status: response, error } = attempts.at(-1) ?? { response_status: null, error: null };
  return { id, endpoint_id, status, attempts: attempts.length, last_response: response ?? error };
}

async function resend({ flags }: Input, path: string): Promise<void> {
  const client = new ApiClient(flags);
  const wanted = textFlag(flags, "endpoint");
  const deliveries = (await readDeliveries(client, path)).filter(
    ({ endpoint_id: endpoint }) => wanted === undefined || endpoint === wanted,
  );
  if (deliveries.length === 0)
    throw new UsageError(
      wanted === undefined
        ? "no endpoint has a delivery of this event: it was created before the endpoints, or none wants its type. POST /v1/webhook_endpoints/{id}/recover delivers events that an endpoint missed"
        : `the endpoint ${wanted} has no delivery of this event`,
    );
  const resent: Delivery[] = [];
  for (const { id, endpoint_id: endpoint } of deliveries)
    resent.push((await client.post(`/v1/webhook_endpoints/${endpoint}/deliveries/${id}/retry`)) as Delivery);
  print(flags, resent, toDeliveryRow);
}

function toRow({ id, type, timestamp, data }: ApiRecord): object {
  const { record } = eventSubject(data);
  return { id, type, timestamp, subject: record.id ?? null, recipient: record.recipient ?? null, error: record.error?.code ?? null };
}

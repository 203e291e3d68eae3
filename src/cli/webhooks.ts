/** godwit webhooks: lists, creates, tests and deletes webhook endpoints through the API of a running service. */
import { TYPE_PATTERNS } from "../events/event.ts";
import { poll } from "../lib/wait.ts";
import { ApiClient, LIST_FLAGS, neededWord, pathOf, printList, type ApiRecord } from "./client.ts";
import { EXIT, textFlag, type Command, type Input } from "./command.ts";
import { print, say } from "./output.ts";
import { listFlag } from "./senders.ts";

const PATH = "/v1/webhook_endpoints";
// An attempt may take 15 seconds.
const TEST_TIMEOUT_MS = 20_000;
const TEST_POLL_MS = 300;

export const webhooks: Command = {
  name: "webhooks",
  about: [
    "An endpoint is a URL that receives signed events. These commands use the HTTP API of a running service: list and get need a key with the scope webhooks:read, create and delete need webhooks:write, test needs both.",
    "create prints the secret of the signatures, which is shown only once. test sends the event webhook.test to the endpoint and waits for its response. For a receiver on your own machine use godwit listen --forward-to.",
  ],
  usage: [
    "webhooks list [flags]",
    "webhooks get ENDPOINT_ID [--json]",
    "webhooks create ENDPOINT_URL [--types TYPES] [--description TEXT] [--json]",
    "webhooks delete ENDPOINT_ID [--json]",
    "webhooks test ENDPOINT_ID [--json]",
  ],
  flags: {
    types: {
      type: "string",
      value: "TYPES",
      choices: TYPE_PATTERNS,
      isList: true,
      help: "the events that the endpoint receives; without it, all",
    },
    description: { type: "string", help: "a description for people" },
    ...LIST_FLAGS,
  },
  settings: "client",
  hasTables: true,
  examples: [
    ["An endpoint for all events of messages:", "godwit webhooks create https://example.com/hooks --types 'message.*'"],
    ["Does it work?", "godwit webhooks test whe_01k9zs3v8mf4tb2xg1qj6n0d5c"],
    ["The endpoints that fail:", `godwit webhooks list --all --json | jq '.[] | select(.failing_since != null)'`],
  ],
  exitCodes: { [EXIT.failed]: "failed; of test: the endpoint did not accept the event" },
  async run(input) {
    const [verb] = input.words;
    if (verb === "list") return printList(input, { path: PATH, toRow });
    if (verb === "create") return create(input);
    const path = pathOf(PATH, neededWord(input, "the endpoint by its id, whe_…"));
    const client = new ApiClient(input.flags);
    if (verb === "test") return test(input, client, path);
    print(input.flags, verb === "get" ? await client.get(path) : await client.delete(path));
  },
};

async function create(input: Input): Promise<void> {
  const { flags } = input;
  const description = textFlag(flags, "description");
  const body = {
    url: neededWord(input, "the URL of the endpoint"),
    ...(textFlag(flags, "types") === undefined ? {} : { event_types: listFlag(flags, "types") }),
    ...(description === undefined ? {} : { description }),
  };
  const { secret, ...endpoint } = await new ApiClient(flags).post(PATH, body);
  print(flags, { secret, ...endpoint });
  if (flags["json"] !== true) say("copy the secret now: it is shown only once");
}

type Delivery = { status: string; attempts: readonly { response_status: number | null; error: string | null; duration_ms: number }[] };

async function test({ flags }: Input, client: ApiClient, path: string): Promise<number> {
  const { event_id: eventId } = await client.post(`${path}/test`);
  const readFirst = async (): Promise<Delivery | undefined> => {
    const { data } = (await client.get(`${pathOf("/v1/events", String(eventId))}/deliveries`)) as { data?: readonly Delivery[] };
    return data?.find(({ attempts }) => attempts.length > 0);
  };
  const delivery = await poll(readFirst, { timeoutMs: TEST_TIMEOUT_MS, everyMs: TEST_POLL_MS });
  const attempt = delivery?.attempts.at(-1);
  const [response_status, error, duration_ms] = [attempt?.response_status ?? null, attempt?.error ?? null, attempt?.duration_ms ?? null];
  print(flags, { event_id: eventId, status: delivery?.status ?? "pending", response_status, error, duration_ms });
  if (delivery === undefined) say("no attempt was made in time: is a node with the role webhooks running?");
  return delivery?.status === "succeeded" ? EXIT.done : EXIT.failed;
}

const toRow = ({ id, status, failing_since, url, event_types, created_at }: ApiRecord): object => ({
  id,
  status,
  failing_since,
  url,
  event_types,
  created_at,
});

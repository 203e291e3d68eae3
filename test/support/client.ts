/** The HTTP client of the tests: one node, one API key, and a group of methods for each resource of the API. A method that returns a
 *  `Reply` asserts nothing; every other method asserts success and returns the record. `keys.ts` requests access tokens. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { until, type Fault } from "./expect.ts";
import { sms, type Godwit, type KeyOptions, type Reply, type RequestOptions } from "./harness.ts";
import { RECIPIENT, recipientNo } from "./recipient.ts";

export type Json = Reply["json"];
export type Query = Readonly<Record<string, string>>;
export type Page<T = Json> = { data: T[]; has_more: boolean; next_cursor: string | null };

/** Sends a request with the key of the client and returns the response, whatever its status. */
type SendRequest = (method: string, path?: string, options?: RequestOptions) => Promise<Reply>;

export type Client = ReturnType<typeof clientOf>;

export function clientOf(node: Godwit, key: string) {
  const request: SendRequest = (method, path = "", options = {}) => node.request(method, path, { key, ...options });
  const messages = messageClient(request);
  const events = eventClient(request);
  return {
    node,
    key,
    request,
    /** The record at a path that has no group. */
    get: async (path: string): Promise<Json> => recordOf(await request("GET", path)),
    batches: batchClient(request, messages, events),
    endpoints: endpointClient(request),
    events,
    messages,
    suppressions: suppressionClient(request, events),
    templates: templateClient(request, events),
    verifications: verificationClient(request),
  };
}

/** A client of an account without a quota. Creates the account when it is missing, so that a test knows all records of its account. */
export async function clientOfAccount(node: Godwit, account: string, options: KeyOptions = {}): Promise<Client> {
  const key = await node.key({ account, ...options });
  await node.unlimited();
  return clientOf(node, key);
}

/** The methods that most resources have. */
function resource(send: SendRequest, prefix: string) {
  const request: SendRequest = (method, path = "", options = {}) => send(method, `${prefix}${path}`, options);
  const list = async (query: Query = {}, path = ""): Promise<Page> => recordOf(await request("GET", `${path}${search(query)}`)) as Page;
  return {
    request,
    list,
    read: async (id: unknown): Promise<Json> => recordOf(await request("GET", `/${String(id)}`)),
    edit: async (id: unknown, body: object): Promise<Json> => recordOf(await request("PATCH", `/${String(id)}`, { body })),
    remove: async (id: unknown): Promise<Json> => recordOf(await request("DELETE", `/${String(id)}`)),
    /** Sends `POST /ID/ACTION`. */
    act: (id: unknown, action: string, options?: RequestOptions): Promise<Reply> => request("POST", `/${String(id)}/${action}`, options),
  };
}

/** Asserts the status of a response and returns its body. */
export function recordOf(reply: Reply, status = 200): Json {
  assert.equal(reply.status, status, reply.text.slice(0, 2_000));
  return reply.json;
}

export const search = (query: Query): string => `?${new URLSearchParams(query).toString()}`;

// No list of a test has more pages. A list that repeats its cursor would never end otherwise.
const MAX_PAGES = 300;

/** Reads all pages of a list. Runs `between` before each further page. */
export async function walk<T>(
  list: (query: Query) => Promise<Page<T>>,
  query: Query,
  between: () => Promise<unknown> = async () => undefined,
): Promise<Page<T>[]> {
  const pages = [await list(query)];
  for (let last = pages[0]; last !== undefined && last.next_cursor !== null; last = pages.at(-1)) {
    assert.equal(last.has_more, true, "a page with a cursor has more");
    assert.ok(pages.length < MAX_PAGES, "the list ends");
    await between();
    pages.push(await list({ ...query, cursor: last.next_cursor }));
  }
  assert.equal(pages.at(-1)?.has_more, false, "a page that has more has a cursor");
  return pages;
}

export const itemsOf = <T>(pages: readonly Page<T>[]): T[] => pages.flatMap(({ data }) => data);
export const idsOf = (pages: readonly Page<{ id: string }>[]): string[] => itemsOf(pages).map(({ id }) => id);
export const typesOf = (items: readonly { type: string }[]): string[] => items.map(({ type }) => type);

type Attempt = {
  number: number;
  link: string;
  outcome: string;
  provider_message_id: string | null;
  provider_code: string | null;
  detail: string | null;
  retry_at: string | null;
};
export type TimelineEntry = {
  id: string;
  type: string;
  ignored: boolean;
  previous_status: string | null;
  status: string | null;
  sequence: number | null;
  attempt: Attempt | null;
  receipt: { link: string; status: string; provider_message_id: string | null; error_code: string | null; raw: Json } | null;
  reason: string | null;
  created_at: string;
};

/** A value for `send_at`. */
export const afterSeconds = (seconds: number): string => new Date(Date.now() + seconds * 1_000).toISOString();

function messageClient(send: SendRequest) {
  const { request, read, list, act } = resource(send, "/v1/messages");
  const post = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", "", { ...options, body: { ...sms(), ...body } });
  return {
    request,
    read,
    list,
    /** Sends the smallest valid message, changed by `body`, and returns the response. */
    post,
    /** Sends a message and returns its record. */
    send: async (body: object = {}, options: RequestOptions = {}): Promise<Json> => recordOf(await post(body, options), 202),
    cancel: (id: unknown, options?: RequestOptions): Promise<Reply> => act(id, "cancel", options),
    redact: (id: unknown, options?: RequestOptions): Promise<Reply> => act(id, "redact", options),
    edit: (id: unknown, body: unknown, options?: RequestOptions): Promise<Reply> =>
      request("PATCH", `/${String(id)}`, { ...options, body }),
    /** The whole timeline of a message, the oldest entry first. */
    timeline: async (id: unknown): Promise<TimelineEntry[]> => {
      const { data, has_more: hasMore } = await list({ limit: "100" }, `/${String(id)}/events`);
      assert.equal(hasMore, false);
      return (data as TimelineEntry[]).toReversed();
    },
    /** Waits until the message has the status, and returns its record. */
    reached: (id: unknown, status: string): Promise<Json> => untilRecord(() => read(id), status, `${String(id)} is ${status}`),
  };
}

const untilRecord = (read: () => Promise<Json>, status: string, what: string): Promise<Json> =>
  until(what, async () => [await read()].find((record) => record["status"] === status));

type Result = {
  index: number;
  status: "accepted" | "refused";
  message_id: string | null;
  error: { code: string; detail: string; errors: Fault[] } | null;
};
export type AcceptedBatch = Json & {
  id: string;
  status: string;
  total: number;
  accepted: number;
  refused: number;
  results: Result[];
};

export const DEFAULTS = { channel: "sms", body: "Hello" } as const;

/** Items with a recipient each. */
export const items = (count: number, fields: (index: number) => object = () => ({})): Json[] =>
  Array.from({ length: count }, (_, index) => ({ recipient: recipientNo(index), ...fields(index) }));

export const acceptedBatch = (reply: Reply): AcceptedBatch => recordOf(reply, 202) as AcceptedBatch;

function batchClient(send: SendRequest, messages: ReturnType<typeof messageClient>, events: ReturnType<typeof eventClient>) {
  const { request, read } = resource(send, "/v1/batches");
  const post = (body: unknown, options: RequestOptions = {}): Promise<Reply> => request("POST", "", { body, ...options });
  return {
    request,
    post,
    read,
    send: async (list: readonly object[], defaults: object = DEFAULTS, options: RequestOptions = {}): Promise<AcceptedBatch> =>
      acceptedBatch(await post({ defaults, items: list }, options)),
    completed: (id: unknown): Promise<Json> => untilRecord(() => read(id), "completed", `${String(id)} is completed`),
    /** All messages of a batch. */
    messages: async (id: unknown, limit = 100): Promise<Json[]> =>
      itemsOf(await walk(messages.list, { batch_id: String(id), limit: String(limit) })),
    /** The events that report the completion of the batch. */
    completions: async (id: unknown): Promise<Json[]> => {
      const { data } = await events.list({ type: "batch.completed", limit: "100" });
      return data.filter((event) => (event.data["batch"] as Json)["id"] === id);
    },
  };
}

export const URL_TEXT = "https://example.com/hook";

export type EndpointClient = ReturnType<typeof endpointClient>;

function endpointClient(send: SendRequest) {
  const endpoints = resource(send, "/v1/webhook_endpoints");
  const { request, read, list, act } = endpoints;
  return {
    ...endpoints,
    create: async (body: object = {}): Promise<Json> => recordOf(await request("POST", "", { body: { url: URL_TEXT, ...body } }), 201),
    rotate: async (id: unknown): Promise<Json> => recordOf(await act(id, "rotate_secret")),
    /** Sends a test event and returns its id. */
    test: async (id: unknown): Promise<string> => String(recordOf(await act(id, "test"), 202)["event_id"]),
    recover: async (id: unknown, since: string): Promise<Json> => recordOf(await act(id, "recover", { body: { since } }), 202),
    retry: async (id: unknown, delivery: unknown): Promise<Json> => recordOf(await act(id, `deliveries/${String(delivery)}/retry`), 202),
    deliveries: (id: unknown, query: Query = {}): Promise<Page> => list(query, `/${String(id)}/deliveries`),
    /** Waits until every missed event is in the queue. */
    recovered: (id: unknown): Promise<Json> =>
      until(`${String(id)} to end its recovery`, async () => [await read(id)].find((endpoint) => endpoint["recovery"] === null)),
  };
}

export type Event = {
  id: string;
  type: string;
  timestamp: string;
  environment: string;
  data: Json & { message: Json; sequence: number };
};

function eventClient(send: SendRequest) {
  const { request, list } = resource(send, "/v1/events");
  return {
    list: list as (query?: Query) => Promise<Page<Event>>,
    get: (id: unknown): Promise<Reply> => request("GET", `/${String(id)}`),
    deliveries: (id: unknown): Promise<Reply> => request("GET", `/${String(id)}/deliveries`),
  };
}

export const SHOP = "+14155550199";

/** Valid phone numbers, all different. */
export const recipients = (count: number, from = 0): string[] =>
  Array.from({ length: count }, (_, index) => `+1415${String(5_000_000 + from + index)}`);

function suppressionClient(send: SendRequest, events: ReturnType<typeof eventClient>) {
  const { request, read, list, remove } = resource(send, "/v1/suppressions");
  const post = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", "", { ...options, body: { recipient: RECIPIENT, ...body } });
  return {
    request,
    post,
    read,
    list,
    lift: remove,
    /** Returns the record as later reads return it, without the count that only an opt-out has. */
    add: async (body: object = {}): Promise<Json> => {
      const { in_flight: _inFlight, ...record } = recordOf(await post(body), 201);
      return record;
    },
    history: (id: unknown, query: Query = {}): Promise<Page> => list(query, `/${String(id)}/history`),
    import: (entries: unknown, options: RequestOptions = {}): Promise<Reply> =>
      request("POST", "/import", { ...options, body: { entries } }),
    /** The events of recipients, the oldest first. */
    events: async (): Promise<Json[]> => itemsOf(await walk(events.list, { type: "recipient.*", limit: "100" })).toReversed(),
  };
}

/** The required fields of a template, for sms only. */
export const TEXT = { language: "en", category: "utility", channels: ["sms"], body: "Hello {{name}}" } as const;
export const BOTH = { ...TEXT, channels: ["sms", "whatsapp"] } as const;

let names = 0;
/** A name that no other template of the test file has. */
export const newName = (prefix = "order"): string => `${prefix}_${(names += 1)}`;

export type TemplateClient = ReturnType<typeof templateClient>;

function templateClient(send: SendRequest, events: ReturnType<typeof eventClient>) {
  const { request, read, list, edit, remove, act } = resource(send, "/v1/templates");
  return {
    request,
    read,
    list,
    edit,
    archive: remove,
    create: async (body: object = {}): Promise<Json> =>
      recordOf(await request("POST", "", { body: { ...TEXT, name: newName(), ...body } }), 201),
    preview: async (id: unknown, body: object = {}): Promise<Json> => recordOf(await act(id, "preview", { body })),
    /** The events of one template, the oldest first: their types and the template in them. */
    events: async (id: unknown): Promise<{ type: string; template: Json }[]> =>
      (await events.list({ limit: "100" })).data
        .map(({ type, data }) => ({ type, template: (data["template"] ?? {}) as Json }))
        .filter(({ template }) => template["id"] === id)
        .toReversed(),
  };
}

/** Settings under which no request reaches a limit. */
export const NO_LIMITS = { GODWIT_VERIFY_COOLDOWN: "0", GODWIT_VERIFY_PER_RECIPIENT: "1000", GODWIT_VERIFY_PER_PREFIX: "100000" };

/** The code of every verification of `test`, and a different one. */
export const RIGHT = "123456";
export const WRONG = "654321";

let numbers = 0;
/** A recipient, and a number prefix, that no verification of the test file has used. */
export const newRecipient = (): string => `+1415${200 + (numbers += 1)}0123`;

function verificationClient(send: SendRequest) {
  const { request, read, act } = resource(send, "/v1/verifications");
  const start = (body: object = {}, options: RequestOptions = {}): Promise<Reply> =>
    request("POST", "", { idempotencyKey: randomUUID(), ...options, body: { recipient: newRecipient(), ...body } });
  const check = (id: unknown, code: unknown = RIGHT, options: RequestOptions = {}): Promise<Reply> =>
    act(id, "check", { ...options, body: { code } });
  const cancel = (id: unknown, options: RequestOptions = {}): Promise<Reply> => act(id, "cancel", options);
  return {
    request,
    start,
    check,
    cancel,
    read,
    /** Starts a verification, by sms unless `body` names channels, and returns its record. */
    started: async (body: object = {}): Promise<Json> =>
      recordOf(await start("channels" in body ? body : { channel: "sms", ...body }), 201),
    checked: async (id: unknown, code: unknown = RIGHT): Promise<Json> => recordOf(await check(id, code)),
    canceled: async (id: unknown): Promise<Json> => recordOf(await cancel(id)),
  };
}

/** Makes a request, and returns its id as soon as the request log has it. */
export async function loggedRequest(node: Godwit, key: string): Promise<string> {
  const id = (await node.send(key)).headers.get("x-request-id") ?? "";
  await until("the request to be in the log", async () => (await node.request("GET", `/v1/requests/${id}`, { key })).status === 200);
  return id;
}

/** Every route with every kind of credential, account and environment. The rows come from the route table, so a new route is covered without
 *  a change here; where a route needs a record or a body that this file cannot make, the test says what to add. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { SCOPES, type Scope } from "../../src/access/scope.ts";
import type { Route } from "../../src/api/route.ts";
import type { ErrorCode } from "../../src/http/codes.ts";
import { decodeId, encodeId, newId, type Id, type IdPrefix } from "../../src/model/id.ts";
import { allRoutes } from "../../src/routes.ts";
import { accountSid, mediaSid, messageSid, serviceSidOf, verificationSid, verifyServiceSid } from "../../src/twilio-api/sids.ts";
import type { Environment, Owner } from "../../src/model/owner.ts";
import { clientOf, loggedRequest, recordOf, type Json } from "../support/client.ts";
import { recipientNo } from "../support/recipient.ts";
import { createToken, oauthClientOf } from "../support/keys.ts";
import { assertProblem } from "../support/expect.ts";
import { picture, upload } from "../support/media.ts";
import { sms, startGodwit, type Godwit, type Reply } from "../support/harness.ts";

const ALL_ROUTES = allRoutes({} as never);
// Those of compatible APIs have credentials of their own, and rows below.
const ROUTES = ALL_ROUTES.filter(({ compatible }) => compatible === undefined);
const nameOf = ({ method, path }: Route): string => `${method} ${path}`;

/** A record of each kind, by the name that `kindsIn` gives to a parameter. */
type Ids = Readonly<Record<string, string>>;

let people = 0;
const newRecipient = (): string => `+1415555${String((people += 1)).padStart(4, "0")}`;
const soon = (): string => new Date(Date.now() + 3_600_000).toISOString();

/** How to create a record of each kind that a path or a query can name. */
const RECORDS: Readonly<Record<string, (godwit: Godwit, key: string, ids: Ids) => Promise<string>>> = {
  messages: async (godwit, key) => String(recordOf(await godwit.send(key, { send_at: soon() }), 202)["id"]),
  batches: (godwit, key) => created(godwit, key, "POST /v1/batches", 202),
  webhook_endpoints: (godwit, key) => created(godwit, key, "POST /v1/webhook_endpoints"),
  events: (godwit, key, { webhook_endpoints: endpoint }) => clientOf(godwit, key).endpoints.test(endpoint),
  delivery_id: (godwit, _key, { webhook_endpoints: endpoint = "", events: event = "" }) => addDelivery(godwit, endpoint, event),
  keys: (godwit, key) => created(godwit, key, "POST /v1/keys"),
  compatible_credentials: (godwit, key) => created(godwit, key, "POST /v1/compatible_credentials"),
  suppressions: (godwit, key) => created(godwit, key, "POST /v1/suppressions"),
  templates: (godwit, key) => created(godwit, key, "POST /v1/templates"),
  media: async (godwit, key) => String(recordOf(await upload(godwit, picture(), { key }), 201)["id"]),
  verifications: (godwit, key) => created(godwit, key, "POST /v1/verifications"),
  requests: loggedRequest,
  // Links, senders and routes belong to live, and so to an account of their own here.
  links: async (godwit) => created(godwit, await linkerOf(godwit), "POST /v1/links"),
  senders: async (godwit, _key, { links = "" }) =>
    String(recordOf(await godwit.request("POST", "/v1/senders", { key: await linkerOf(godwit), body: newSender(links) }), 201)["id"]),
  routes: async (godwit, _key, { links = "" }) =>
    String(recordOf(await godwit.request("POST", "/v1/routes", { key: await linkerOf(godwit), body: newRoute(links) }), 201)["id"]),
};

const linkerOf = (godwit: Godwit): Promise<string> => godwit.key({ account: "linker", environment: "live" });
const newSender = (link: string): Json => ({ number: newRecipient(), link_id: link });
const newRoute = (link: string): Json => ({ channel: "sms", links: [link], prefixes: [newRecipient()] });

/** A valid body for each route that has one. */
const BODIES: Readonly<Record<string, () => Json>> = {
  "POST /v1/messages": () => ({ ...sms(), recipient: newRecipient() }),
  "POST /v1/messages/validate": sms,
  "PATCH /v1/messages/{id}": () => ({ metadata: { by: "a stranger" } }),
  "POST /v1/batches": () => ({ items: [{ ...sms(), recipient: newRecipient() }] }),
  "POST /v1/webhook_endpoints": () => ({ url: "https://example.com/hook" }),
  "PATCH /v1/webhook_endpoints/{id}": () => ({ description: "by a stranger" }),
  "POST /v1/webhook_endpoints/{id}/recover": () => ({ since: new Date(Date.now() - 60_000).toISOString() }),
  "POST /v1/keys": () => ({ scopes: ["keys:write"], name: "of the matrix" }),
  "POST /v1/keys/{id}/rotate": () => ({}),
  "POST /v1/compatible_credentials": () => ({ source: "kannel", user_name: randomUUID(), scopes: ["keys:write"] }),
  "POST /v1/suppressions": () => ({ recipient: newRecipient() }),
  "POST /v1/suppressions/import": () => ({ entries: [{ recipient: newRecipient() }] }),
  "PATCH /v1/consent_settings": () => ({ help_words: ["Sos"] }),
  "POST /v1/templates": () => ({
    name: `matrix_${(people += 1)}`,
    language: "en",
    category: "authentication",
    channels: ["sms"],
    body: "{{code}} is your code",
  }),
  "PATCH /v1/templates/{id}": () => ({ body: "{{code}} is for strangers" }),
  "POST /v1/templates/{id}/preview": () => ({ template_variables: { code: "1" } }),
  // No address of this machine may be fetched from.
  "POST /v1/media": () => ({ url: "https://127.0.0.1/picture.jpeg" }),
  "POST /v1/verifications": () => ({ recipient: newRecipient(), channel: "sms" }),
  "POST /v1/verifications/{id}/check": () => ({ code: "000000" }),
  "POST /v1/links": () => ({
    name: randomUUID(),
    provider: "smpp",
    settings: { host: "smpp.example.com", port: 2776, tls: true, system_id: "x", password: "x" },
  }),
  "PATCH /v1/links/{id}": () => ({ rate: 5 }),
  "POST /v1/senders": () => newSender("lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"),
  "PATCH /v1/senders/{id}": () => ({ preference: 1 }),
  "POST /v1/routes": () => newRoute("lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"),
  "PATCH /v1/routes/{id}": () => ({ priority: 1 }),
  "POST /v1/recipients/erase": () => ({ recipient: newRecipient() }),
  "POST /v1/recipients/export": () => ({ recipient: newRecipient() }),
};

const BY_TEMPLATE = { recipient: "+14155550123", channel: "sms", template_variables: { code: "1" } };

/** Bodies that name a record: for each route whose body has a member that ends in `_id`, anywhere. */
const REFERENCES: Readonly<Record<string, (ids: Ids) => Json[]>> = {
  "POST /v1/messages": ({ templates = "" }) => [
    { ...BY_TEMPLATE, template_id: templates },
    { ...sms(), fallback: [{ channel: "whatsapp", template_id: templates, template_variables: { code: "1" } }] },
  ],
  "POST /v1/messages/validate": ({ templates = "" }) => [{ ...BY_TEMPLATE, template_id: templates }],
  "POST /v1/batches": ({ templates = "" }) => [{ items: [{ ...BY_TEMPLATE, template_id: templates }] }],
  "POST /v1/senders": ({ links = "" }) => [newSender(links)],
  "POST /v1/verifications": ({ templates = "" }) => [{ recipient: "+14155550124", channel: "sms", template_id: templates }],
};

/** Stores a delivery as after its first attempt, since this service attempts none. */
async function addDelivery(godwit: Godwit, endpoint: string, event: string): Promise<string> {
  const id = newId("dlv", Date.now());
  await godwit.rows(
    `insert into webhook_deliveries (account_id, environment, endpoint_id, id, event_id, event_type, status, attempts, updated_at)
     select account_id, environment, id, $2, $3, 'webhook.test', 'failed', '[]', now() from webhook_endpoints where id = $1`,
    [decodeId("whe", endpoint), id, decodeId("evt", event)],
  );
  return encodeId("dlv", id);
}

async function created(godwit: Godwit, key: string, route: string, status = 201): Promise<string> {
  const body = BODIES[route]?.();
  const reply = await godwit.request("POST", route.slice("POST ".length), { key, body, idempotencyKey: randomUUID() });
  return String(recordOf(reply, status)["id"]);
}

/** The kinds of the records in a path: `/v1/keys/{id}` has one of `keys`; any other parameter is its own kind. */
const kindsIn = (path: string): { parameter: string; kind: string }[] =>
  Array.from(path.matchAll(/\/(\w+)\/\{(\w+)\}/g), ([, segment = "", parameter = ""]) => ({
    parameter,
    kind: parameter === "id" ? segment : parameter,
  }));

const pathWith = (path: string, ids: Ids): string =>
  kindsIn(path).reduce((text, { parameter, kind }) => text.replace(`{${parameter}}`, ids[kind] ?? assert.fail(kind)), path);

const propertiesOf = (schema: unknown): Record<string, unknown> => (schema as { properties?: Record<string, unknown> }).properties ?? {};

/** The names of members that end in `_id`, at any depth. */
function referencesIn(schema: unknown): string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const own = Object.keys(propertiesOf(schema)).filter((name) => name.endsWith("_id"));
  return [...own, ...Object.values(schema).flatMap((value: unknown) => (Array.isArray(value) ? value : [value]).flatMap(referencesIn))];
}

/** The kind of record that a query parameter names. */
const PARAMETERS: Readonly<Record<string, string>> = { message_id: "messages", batch_id: "batches", key_id: "keys" };

const queryReferences = ({ query }: Route): string[] => Object.keys(propertiesOf(query ?? {})).filter((name) => name.endsWith("_id"));

describe("the matrix has a row for", () => {
  for (const route of ROUTES) {
    const name = nameOf(route);
    test(name, () => {
      for (const { kind } of kindsIn(route.path))
        assert.ok(RECORDS[kind], `${name} names a record: add to RECORDS how to create one, as "${kind}"`);
      for (const parameter of queryReferences(route))
        assert.ok(PARAMETERS[parameter], `${name} has the query parameter ${parameter}: add the kind of its record to PARAMETERS`);
      if (route.body !== undefined) assert.ok(BODIES[name], `${name} has a body: add a valid one to BODIES`);
      const named = referencesIn(route.documentedBody ?? route.body);
      if (named.length > 0) assert.ok(REFERENCES[name], `the body of ${name} has ${named.join(", ")}: add bodies with each to REFERENCES`);
    });
  }
});

/** An id of the same kind that no record has. */
function madeUp(id: string): string {
  const prefix = id.slice(0, id.indexOf("_")) as IdPrefix;
  assert.ok(decodeId(prefix, id) !== undefined, id);
  return encodeId(prefix, newId(prefix, Date.now()));
}

const madeUpIds = (ids: Ids): Ids => Object.fromEntries(Object.entries(ids).map(([kind, id]) => [kind, madeUp(id)]));

type Visit = { ids: Ids; authorization?: string | undefined; body?: Json; query?: string };

let godwit: Godwit;

/** Calls a route. Of a stream only the head is read. */
async function visit(route: Route, { ids, authorization, body = BODIES[nameOf(route)]?.(), query = "" }: Visit): Promise<Reply> {
  const path = pathWith(route.path, ids) + query;
  const headers: Record<string, string> = authorization === undefined ? {} : { authorization };
  if (route.reply.contentType === "text/event-stream") return headOf(path, headers);
  const idempotency = route.isIdempotent ? { idempotencyKey: randomUUID() } : {};
  return godwit.request(route.method, path, { ...(route.body === undefined ? {} : { body }), headers, ...idempotency });
}

async function headOf(path: string, headers: Record<string, string>): Promise<Reply> {
  const leaving = new AbortController();
  const response = await fetch(`${godwit.url}${path}`, { headers, signal: leaving.signal });
  const text = response.status === 200 ? "" : await response.text();
  leaving.abort();
  return { status: response.status, headers: response.headers, text, json: text === "" ? {} : (JSON.parse(text) as Json) };
}

const bearer = (secret: string): string => `Bearer ${secret}`;
const codeOf = ({ json }: Reply): unknown => json["code"];

/** Creates one record of each kind. The order of the table counts: some need others. */
async function createRecords(key: string): Promise<Ids> {
  const ids: Record<string, string> = {};
  for (const [kind, create] of Object.entries(RECORDS)) ids[kind] = await create(godwit, key, ids);
  return ids;
}

let strangeIds: Ids;
before(async () => {
  godwit = await startGodwit({
    env: { GODWIT_VERIFY_COOLDOWN: "0" },
    // Without a link nothing could be sent in live.
    config: '[[link]]\nname = "fake"\nprovider = "simulator"\n',
  });
  await godwit.unlimited();
  const key = await godwit.key({ account: "scratch" });
  await godwit.unlimited();
  strangeIds = madeUpIds(await createRecords(key));
});
after(() => godwit.stop());

describe("without a valid credential", () => {
  const CREDENTIALS: Readonly<Record<string, { code: ErrorCode; make: () => Promise<string | undefined> }>> = {
    none: { code: "unauthorized_missing_token", make: async () => undefined },
    "another scheme": { code: "unauthorized_missing_token", make: async () => `Basic ${btoa("key:secret")}` },
    "a malformed key": { code: "unauthorized_invalid_token", make: async () => bearer("gw_test_nonsense") },
    "a malformed token": { code: "unauthorized_invalid_token", make: async () => bearer("a.b.c") },
    "an unknown key": { code: "unauthorized_invalid_token", make: async () => bearer(await removed((await newKey()).secret)) },
    "a revoked key": { code: "unauthorized_invalid_token", make: async () => bearer(await revoked((await newKey()).secret)) },
    "an expired key": {
      code: "unauthorized_invalid_token",
      make: async () => bearer(await godwit.key({ account: "scratch", expiresAt: new Date(Date.now() - 1_000) })),
    },
    "a token of a revoked key": {
      code: "unauthorized_invalid_token",
      make: async () => {
        const { secret, token } = await newKey();
        await revoked(secret);
        return bearer(token);
      },
    },
    "a token with another signature": {
      code: "unauthorized_invalid_token",
      make: async () => bearer((await newKey()).token.replace(/.{8}$/, "AAAAAAAA")),
    },
  };
  for (const [what, { code, make }] of Object.entries(CREDENTIALS))
    test(`${what}: every route responds with ${code}`, async () => {
      const authorization = await make();
      for (const route of ROUTES) {
        const reply = await visit(route, { ids: strangeIds, authorization });
        assert.equal(codeOf(reply), code, `${nameOf(route)}: ${reply.status} ${reply.text}`);
        assert.equal(reply.status, 401);
        assert.match(reply.headers.get("www-authenticate") ?? "", /^Bearer/);
      }
    });
});

async function newKey(scopes: readonly Scope[] = SCOPES): Promise<{ secret: string; token: string }> {
  const secret = await godwit.key({ account: "scratch", scopes });
  return { secret, token: await createToken(godwit, await oauthClientOf(godwit, secret)) };
}

async function revoked(secret: string): Promise<string> {
  const { id } = await oauthClientOf(godwit, secret);
  const root = await godwit.key({ account: "scratch" });
  recordOf(await godwit.request("DELETE", `/v1/keys/${id}`, { key: root }));
  return secret;
}

/** Removes a key that no request has used, so that no node can know it. */
async function removed(secret: string): Promise<string> {
  const { id } = await oauthClientOf(godwit, secret);
  const uuid = decodeId("key", id);
  await godwit.rows("delete from api_key_hashes where key_id = $1", [uuid]);
  return secret;
}

describe("the scope", () => {
  for (const scope of SCOPES) {
    const routes = ROUTES.filter((route) => route.scope === scope);
    test(`${scope} is required by its ${routes.length} routes, and enough`, async () => {
      const [others, only] = [await newKey(SCOPES.filter((each) => each !== scope)), await newKey([scope])];
      for (const route of routes) {
        for (const secret of [others.secret, others.token])
          assertProblem(await visit(route, { ids: strangeIds, authorization: bearer(secret) }), "forbidden_insufficient_scope");
        for (const secret of [only.secret, only.token]) {
          const reply = await visit(route, { ids: strangeIds, authorization: bearer(secret) });
          assert.notEqual(reply.status, 401, `${nameOf(route)}: ${reply.text}`);
          assert.notEqual(codeOf(reply), "forbidden_insufficient_scope", nameOf(route));
          if (kindsIn(route.path).length > 0) assertProblem(reply, "not_found");
        }
      }
    });
  }

  test("of a route without one does not count", async () => {
    const only = await newKey(["links:read"]);
    for (const route of ROUTES.filter((each) => each.scope === null))
      for (const secret of [only.secret, only.token])
        assert.equal((await visit(route, { ids: strangeIds, authorization: bearer(secret) })).status, 200);
  });
});

/** A hash of each table's rows of an account and environment. */
async function snapshotOf(account: string, environment: Environment): Promise<Record<string, string>> {
  const tables = await godwit.rows<{ name: string }>(
    `select c.table_name as name from information_schema.columns c
       join information_schema.tables t on t.table_name = c.table_name and t.table_schema = 'public' and t.table_type = 'BASE TABLE'
      where c.table_schema = 'public' and c.column_name in ('account_id', 'environment')
        -- A background job adds up the usage at any time.
        and c.table_name not like 'usage%'
      group by c.table_name having count(*) = 2 order by 1`,
  );
  const hashes: Record<string, string> = {};
  for (const { name } of tables) {
    const [row] = await godwit.rows<{ hash: string | null }>(
      // Entries of the audit log are sealed later.
      `select md5(string_agg(line, '|' order by line)) as hash from ${name} t cross join lateral (select (to_jsonb(t) - 'is_unsealed')::text as line) l
        where account_id = (select id from accounts where name = $1) and environment = $2`,
      [account, environment],
    );
    hashes[name] = row?.hash ?? "";
  }
  return hashes;
}

/** The body without what differs in each response. */
const comparable = ({ status, text, headers }: Reply): string =>
  `${status} ${text.replaceAll(headers.get("x-request-id") ?? "-", "(request)").replaceAll(/"\d{4}-\d\d-\d\dT[^"]+"/g, "(time)")}`;

describe("the records of another", () => {
  let owner: string;
  let theirs: Ids;
  let snapshot: Record<string, string>;
  before(async () => {
    owner = await godwit.key({ account: "victim" });
    await godwit.unlimited();
    theirs = await createRecords(owner);
    snapshot = await snapshotOf("victim", "test");
  });

  const STRANGERS: readonly (readonly [what: string, account: string, environment: Environment])[] = [
    ["account", "stranger", "test"],
    ["account and environment", "stranger", "live"],
    ["environment of the same account", "victim", "live"],
  ];
  for (const [what, account, environment] of STRANGERS) {
    describe(what, () => {
      let secrets: string[];
      before(async () => {
        const secret = await godwit.key({ account, environment });
        await godwit.unlimited();
        secrets = [secret, await createToken(godwit, await oauthClientOf(godwit, secret))];
      });

      /** Asserts that a request that names their record gets the response of one that names none. */
      async function assertSame(route: Route, input: (ids: Ids) => Visit): Promise<void> {
        for (const secret of secrets) {
          const [foreign, none] = [
            await visit(route, { ...input(theirs), authorization: bearer(secret) }),
            await visit(route, { ...input(madeUpIds(theirs)), authorization: bearer(secret) }),
          ];
          assert.equal(withoutIds(comparable(foreign)), withoutIds(comparable(none)), nameOf(route));
          assertHidden(foreign, route);
        }
      }

      const withoutIds = (text: string): string => text.replaceAll(/\b[a-z]{2,5}_[0-9a-z]{26}\b/g, "(id)");
      const assertHidden = ({ text }: Reply, route: Route): void => {
        for (const id of Object.values(theirs)) assert.ok(!text.includes(id), `${nameOf(route)} shows ${id}`);
      };

      test("are not found by their ids, as if there were none", async () => {
        for (const route of ROUTES.filter(({ path }) => kindsIn(path).length > 0)) {
          await assertSame(route, (ids) => ({ ids }));
          for (const secret of secrets) assertProblem(await visit(route, { ids: theirs, authorization: bearer(secret) }), "not_found");
        }
      });

      test("are not found below a record of one's own, nor one's own below theirs", async () => {
        const own = await createRecords(secrets[0] ?? "");
        for (const route of ROUTES) {
          const kinds = kindsIn(route.path).map(({ kind }) => kind);
          for (const foreign of kinds.length > 1 ? kinds : [])
            assertProblem(
              await visit(route, { ids: { ...own, [foreign]: theirs[foreign] ?? "" }, authorization: bearer(secrets[0] ?? "") }),
              "not_found",
            );
        }
      });

      test("are not in lists, also not where a query names them", async () => {
        // The request log has what the caller's own requests named, whether it exists or not.
        const isList = ({ method, path }: Route): boolean => method === "GET" && kindsIn(path).length === 0 && path !== "/v1/requests";
        for (const route of ROUTES.filter(isList)) {
          for (const secret of secrets) assertHidden(await visit(route, { ids: {}, authorization: bearer(secret) }), route);
          for (const name of queryReferences(route))
            await assertSame(route, (ids) => ({ ids: {}, query: `?${name}=${ids[PARAMETERS[name] ?? ""]}` }));
        }
      });

      test("cannot be used in the body of a request", async () => {
        for (const route of ROUTES)
          for (const index of REFERENCES[nameOf(route)]?.(theirs).keys() ?? [])
            await assertSame(route, (ids) => ({ ids: {}, body: REFERENCES[nameOf(route)]?.(ids)[index] ?? {} }));
      });
    });
  }

  test("are unchanged after all these requests", async () => {
    assert.deepEqual(await snapshotOf("victim", "test"), snapshot);
  });

  test("are found by their owner, so the requests of the others named records that exist", async () => {
    for (const route of ROUTES.filter(({ method, path }) => method === "GET" && kindsIn(path).length > 0)) {
      const isSetup = /^\/v1\/(links|senders|routes)\//.test(route.path);
      const reply = await visit(route, { ids: theirs, authorization: bearer(isSetup ? await linkerOf(godwit) : owner) });
      assert.equal(reply.status, 200, `${nameOf(route)}: ${reply.text}`);
    }
  });
});

type User = { userName: string; secret: string };
type SignIn = {
  /** Of a credential to create. */
  fields: () => Record<string, unknown>;
  path: (route: Route, user: User) => string | Promise<string>;
  headers: (route: Route, user: User) => Record<string, string>;
  body: (route: Route) => string;
  /** The status for a stranger, and for a user without the scope of the route. */
  refused: number;
  forbidden: number;
  /** The scopes of all routes, if the default ones are fewer. */
  scopes?: readonly Scope[];
  /** Methods that the API does not have. */
  refusedMethods?: readonly string[];
};

const ofKannel = (from: User): string => new URLSearchParams({ username: from.userName, password: from.secret }).toString();

const TWILIO_FORMS: Readonly<Record<string, string>> = {
  twilioUpdateMessage: "Body=",
  twilioCreateVerification: "To=%2B15005550006&Channel=sms",
  twilioUpdateVerification: "Status=canceled",
  twilioCheckVerification: "VerificationSid=VE00000000000000000000000000000000&Code=123456",
};

/** How a client of each compatible API signs in, and the status of its refusals. */
const SIGN_INS: Readonly<Record<string, SignIn>> = {
  kannel: {
    fields: () => ({ user_name: randomUUID() }),
    path: (route, user) => `${route.path}?${ofKannel(user)}&from=12345&to=14155550123&text=x`,
    headers: ({ method }, user) =>
      method === "GET"
        ? {}
        : {
            "content-type": "text/plain",
            "x-kannel-username": user.userName,
            "x-kannel-password": user.secret,
            "x-kannel-from": "12345",
            "x-kannel-to": "14155550123",
          },
    body: () => "x",
    refused: 403,
    forbidden: 403,
    refusedMethods: ["PUT", "PATCH", "DELETE"],
  },
  twilio: {
    // Several API keys can belong to an account, and one auth token.
    fields: () => ({ settings: { type: "api_key" } }),
    path: (route) => foreignTarget(route),
    headers: (_, { userName, secret }) => ({
      authorization: `Basic ${Buffer.from(`${userName}:${secret}`).toString("base64")}`,
      "content-type": "application/x-www-form-urlencoded",
    }),
    body: ({ operationId }) => TWILIO_FORMS[operationId] ?? "To=%2B15005550006&From=12345&Body=x",
    refused: 401,
    forbidden: 403,
    scopes: SCOPES,
  },
};

type TwilioTarget = { owner: Owner; message: string; media: string; verification: string };

/** The users' account, with a message that is finished and a verification. Routes that change one of them get their own. */
const targets = new Map<string, Promise<TwilioTarget>>();
const CHANGES = /^twilio(Update|Delete)/;

async function newTarget(): Promise<TwilioTarget> {
  const key = await godwit.key({ account: "foreign" });
  const read = async (method: string, target: string, body?: object): Promise<Json> => {
    const reply = await godwit.request(method, target, { key, ...(body && { body }), idempotencyKey: randomUUID() });
    assert.ok(reply.status < 300, reply.text);
    return reply.json;
  };
  const { account_id: account } = await read("GET", "/v1/credential");
  const { id: media } = (await upload(godwit, picture(), { key })).json;
  const content = { type: "media", kind: "image", media_id: media };
  const sendAt = new Date(Date.now() + 3_600_000).toISOString();
  const { id } = await read("POST", "/v1/messages", { recipient: "+15005550006", channel: "sms", content, send_at: sendAt });
  await read("POST", `/v1/messages/${String(id)}/cancel`);
  const { id: verification } = await read("POST", "/v1/verifications", { recipient: recipientNo(targets.size + 1), channel: "sms" });
  return {
    owner: { accountId: idOf("acct", account), environment: "test" },
    message: messageSid(idOf("msg", id), true),
    media: mediaSid(idOf("media", media)),
    verification: verificationSid(idOf("ver", verification)),
  };
}

async function foreignTarget({ path, operationId }: Route): Promise<string> {
  const name = CHANGES.test(operationId) ? operationId : "";
  const target = targets.get(name) ?? newTarget();
  targets.set(name, target);
  const { owner, message, media, verification } = await target;
  const isVerify = path.startsWith("/twilio/v2/");
  const sid = path.includes("/Media/") ? media : isVerify ? verification : message;
  return path
    .replace("{AccountSid}", accountSid(owner))
    .replace("{MessageSid}", message)
    .replace("{ServiceSid}", isVerify ? verifyServiceSid(owner) : serviceSidOf(owner))
    .replace("{PhoneNumber}", "+15005550006")
    .replace("{Sid}", sid);
}

const idOf = <P extends IdPrefix>(prefix: P, text: unknown): Id<P> => decodeId(prefix, String(text)) ?? assert.fail("a record has an id");

describe("a compatible API", () => {
  const sourceOf = ({ operationId }: Route): string => /^[a-z]+/.exec(operationId)?.[0] ?? "";
  type Users = { user: User; ended: User; unfit: User; apiKey: string };
  const users = new Map<string, Promise<Users>>();
  const usersOf = (source: string): Promise<Users> => {
    const made = users.get(source) ?? newUsers(source);
    users.set(source, made);
    return made;
  };
  async function newUsers(source: string): Promise<Users> {
    const apiKey = await godwit.key({ account: "foreign" });
    const create = async (scopes?: readonly Scope[]): Promise<User & { id: string }> => {
      const body = { source, ...SIGN_INS[source]?.fields(), ...(scopes && { scopes }) };
      const reply = await godwit.request("POST", "/v1/compatible_credentials", { key: apiKey, body });
      const { id, user_name: userName, secret } = recordOf(reply, 201);
      return { id: String(id), userName: String(userName), secret: String(secret) };
    };
    const allScopes = SIGN_INS[source]?.scopes;
    const [user, ended, unfit] = [await create(allScopes), await create(), await create(["audit:read"])];
    recordOf(await godwit.request("DELETE", `/v1/compatible_credentials/${ended.id}`, { key: apiKey }), 200);
    return { user, ended, unfit, apiKey };
  }
  const signInOf = (route: Route): SignIn =>
    SIGN_INS[sourceOf(route)] ?? assert.fail(`add to SIGN_INS how a client of ${route.operationId} signs in`);
  const call = async (route: Route, user: User): Promise<Reply> => {
    const { path, headers, body } = signInOf(route);
    const { method } = route;
    const options = { method, headers: headers(route, user), ...(method === "POST" ? { body: body(route) } : {}) };
    const response = await fetch(godwit.url + (await path(route, user)), options);
    return { status: response.status, headers: response.headers, text: await response.text(), json: {} };
  };
  before(async () => {
    await godwit.key({ account: "foreign" });
    await godwit.unlimited();
  });
  const ofApi = ALL_ROUTES.filter(({ compatible }) => compatible !== undefined);

  for (const route of ofApi) {
    test(`${nameOf(route)} refuses all but an active credential of its own with its scope`, async () => {
      const { refused, forbidden } = signInOf(route);
      const { user, ended, unfit, apiKey } = await usersOf(sourceOf(route));
      const strangers: Readonly<Record<string, User>> = {
        "no user": { userName: "", secret: "" },
        "an unknown user": { ...user, userName: randomUUID() },
        "a wrong password": { ...user, secret: `${user.secret}x` },
        "the password of another": { ...user, secret: unfit.secret },
        "a revoked user": ended,
        "an API key": { userName: user.userName, secret: apiKey },
      };
      for (const [what, stranger] of Object.entries(strangers)) assert.equal((await call(route, stranger)).status, refused, what);
      if (route.scope !== null) assert.equal((await call(route, unfit)).status, forbidden);
      const reply = await call(route, user);
      // A method that the API does not have is refused in its own form.
      if (signInOf(route).refusedMethods?.includes(route.method) === true) return assert.equal(reply.status, 400);
      // The account has no senders and no such verification, and the API does not have every path.
      const isKnown = !/\*$|ServiceSid\}\/(PhoneNumbers|ShortCodes|AlphaSenders)\/|VerificationCheck$/.test(route.path);
      assert.ok(isKnown ? reply.status < 300 : reply.status === 404, `${reply.status} ${reply.text}`);
    });
  }
});

/** The client of a WhatsApp business account: submissions, lists, deletions, and the handling of errors. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createLog } from "../../src/model/log.ts";
import type { ReviewableContent, ReviewableTemplate, BusinessAccountClient } from "../../src/providers/business-account.ts";
import { whatsapp, WHATSAPP_DEFAULTS, type WhatsAppSettings } from "../../src/providers/whatsapp/whatsapp.ts";
import { FakeGraph, GRAPH_SECRETS, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { graphError, WABA_ID, type GraphTemplate } from "../support/fakes/graph-templates.ts";
import type { CarrierBehavior } from "../support/fakes/http-carrier.ts";
import { settled } from "../support/recording-host.ts";

const never = new AbortController().signal;

const settingsFor = (baseUrl: string, wabaId: string | null = WABA_ID): WhatsAppSettings => ({
  ...WHATSAPP_DEFAULTS,
  ...GRAPH_SECRETS,
  baseUrl,
  phoneNumberId: PHONE_NUMBER_ID,
  wabaId,
});

async function withAccount(run: (account: BusinessAccountClient, graph: FakeGraph) => Promise<void>): Promise<void> {
  const graph = await new FakeGraph().listen();
  const account = whatsapp.openBusinessAccount?.(settingsFor(graph.url), createLog("silent").log) ?? assert.fail("no business account");
  try {
    await run(account, graph);
  } finally {
    await account.close();
    await graph.close();
  }
}

const template = (fields: Partial<ReviewableTemplate> = {}): ReviewableTemplate => ({
  name: "order",
  language: "en",
  category: "utility",
  body: "Hello",
  header: null,
  footer: null,
  buttons: null,
  examples: {},
  ...fields,
});

test("links to the same business account have the same account name, and a link without one has none", () => {
  const accountOf = (baseUrl: string | undefined, wabaId: string | null) =>
    whatsapp.businessAccountName?.({ ...settingsFor("", wabaId), ...(baseUrl === undefined ? {} : { baseUrl }) });
  assert.equal(accountOf("https://graph.facebook.com/", "7"), accountOf("https://graph.facebook.com", "7"));
  assert.notEqual(accountOf("https://graph.facebook.com", "7"), accountOf("https://graph.facebook.com", "8"));
  assert.notEqual(accountOf("https://graph.facebook.com/a", "7"), accountOf("https://graph.facebook.com/b", "7"));
  assert.equal(accountOf("https://me:secret@graph.facebook.com", "7"), "whatsapp graph.facebook.com 7");
  assert.equal(accountOf("https://graph.facebook.com", null), undefined);
});

describe("a submitted template", () => {
  test("is sent to the business account, as JSON with the token", () =>
    withAccount(async (account, graph) => {
      const outcome = await account.submit(template(), undefined, never);
      assert.deepEqual(outcome, { kind: "submitted", id: graph.templates.all[0]?.id, status: "pending" });
      const [seen] = graph.seen;
      assert.deepEqual([seen?.method, seen?.path], ["POST", `/v23.0/${WABA_ID}/message_templates`]);
      assert.equal(seen?.headers["authorization"], `Bearer ${GRAPH_SECRETS.accessToken}`);
      assert.deepEqual(JSON.parse(seen?.body ?? ""), {
        name: "order",
        language: "en",
        category: "UTILITY",
        components: [{ type: "BODY", text: "Hello" }],
      });
    }));

  test("may be approved immediately", () =>
    withAccount(async (account, graph) => {
      graph.templates.firstStatus = "APPROVED";
      const outcome = await account.submit(template(), undefined, never);
      assert.equal(outcome.kind === "submitted" && outcome.status, "approved");
    }));

  test("numbers the variables of each component from one, with an example for each", () =>
    withAccount(async (account, graph) => {
      await account.submit(
        template({ header: "No. {{2}}", body: "{{4}} and {{1}} and {{3}}", examples: { "1": "a", "4": "d" } }),
        undefined,
        never,
      );
      assert.deepEqual(graph.templates.all[0]?.components, [
        { type: "HEADER", format: "TEXT", text: "No. {{1}}", example: { header_text: ["2"] } },
        { type: "BODY", text: "{{3}} and {{1}} and {{2}}", example: { body_text: [["a", "3", "d"]] } },
      ]);
    }));

  test("has buttons of every kind", () =>
    withAccount(async (account, graph) => {
      const button = { url: null, phone_number: null };
      await account.submit(
        template({
          buttons: [
            { ...button, type: "quick_reply", text: "Yes" },
            { ...button, type: "url", text: "Open", url: "https://example.com" },
            { ...button, type: "phone_number", text: "Call", phone_number: "+14155550123" },
          ],
        }),
        undefined,
        never,
      );
      assert.deepEqual(graph.templates.all[0]?.components[1], {
        type: "BUTTONS",
        buttons: [
          { type: "QUICK_REPLY", text: "Yes" },
          { type: "URL", text: "Open", url: "https://example.com" },
          { type: "PHONE_NUMBER", text: "Call", phone_number: "+14155550123" },
        ],
      });
    }));

  test("for a code has WhatsApp's text and a button that copies the code", () =>
    withAccount(async (account, graph) => {
      const code = template({ name: "code", category: "authentication", body: "{{code}} is it" });
      assert.equal((await account.submit(code, undefined, never)).kind, "submitted");
      assert.deepEqual(JSON.parse(graph.seen[0]?.body ?? ""), {
        name: "code",
        language: "en",
        category: "AUTHENTICATION",
        components: [
          { type: "BODY", add_security_recommendation: true },
          { type: "BUTTONS", buttons: [{ type: "OTP", otp_type: "COPY_CODE" }] },
        ],
      });
      for (const fields of [{ body: "none" }, { body: "{{a}} {{b}}" }, { footer: "x" }, { header: "x" }] as const) {
        const outcome = await account.submit({ ...code, ...fields }, undefined, never);
        assert.ok(outcome.kind === "refused" && outcome.reason.includes("one variable"), JSON.stringify(outcome));
      }
      assert.equal(graph.seen.length, 1, "an invalid template is not sent");
    }));

  test("that replaces another edits it, and its category only while that is permitted", () =>
    withAccount(async (account, graph) => {
      for (const [status, category] of [
        ["APPROVED", undefined],
        ["REJECTED", "MARKETING"],
      ] as const) {
        const made = graph.templates.add({ name: `order_${status.toLowerCase()}`, status });
        const listed = await account.list(never);
        const before = listed.kind === "listed" ? listed.templates.find(({ id }) => id === made.id) : undefined;
        const outcome = await account.submit(template({ name: made.name, category: "marketing", body: "Other" }), before, never);
        assert.deepEqual(outcome, { kind: "submitted", id: made.id, status: "pending" });
        const seen = graph.seen.at(-1);
        assert.equal(seen?.path, `/v23.0/${made.id}`);
        assert.deepEqual(JSON.parse(seen?.body ?? ""), {
          ...(category === undefined ? {} : { category }),
          components: [{ type: "BODY", text: "Other" }],
        });
      }
    }));
});

const OTP = { type: "BUTTONS", buttons: [{ type: "URL", text: "Copy", url: "https://www.whatsapp.com/otp/code/?code=otp{{1}}" }] };
const READ: readonly (readonly [what: string, fields: Partial<GraphTemplate>, content: Partial<ReviewableContent> | undefined])[] = [
  ["a text", { components: [{ type: "BODY", text: "Hello" }] }, { body: "Hello" }],
  [
    "numbered variables of header and body, in sequence",
    {
      components: [
        { type: "HEADER", format: "TEXT", text: "No. {{1}}", example: { header_text: ["A-17"] } },
        { type: "BODY", text: "{{2}} and {{1}}", example: { body_text: [["one", "two"]] } },
      ],
    },
    { header: "No. {{1}}", body: "{{3}} and {{2}}", examples: { "1": "A-17", "2": "one", "3": "two" } },
  ],
  [
    "named variables, the same in both",
    {
      parameter_format: "NAMED",
      components: [
        {
          type: "HEADER",
          format: "TEXT",
          text: "{{order}}",
          example: { header_text_named_params: [{ param_name: "order", example: "A" }] },
        },
        { type: "BODY", text: "{{name}} {{order}}", example: { body_text_named_params: [{ param_name: "name", example: "Ada" }] } },
      ],
    },
    { header: "{{order}}", body: "{{name}} {{order}}", examples: { order: "A", name: "Ada" } },
  ],
  [
    "footer and buttons",
    {
      components: [
        { type: "BODY", text: "Hello" },
        { type: "FOOTER", text: "Bye" },
        {
          type: "BUTTONS",
          buttons: [
            { type: "QUICK_REPLY", text: "Yes" },
            { type: "PHONE_NUMBER", text: "Call", phone_number: "14155550123" },
          ],
        },
      ],
    },
    {
      body: "Hello",
      footer: "Bye",
      buttons: [
        { type: "quick_reply", text: "Yes", url: null, phone_number: null },
        { type: "phone_number", text: "Call", url: null, phone_number: "+14155550123" },
      ],
    },
  ],
  [
    "a code",
    {
      category: "AUTHENTICATION",
      components: [{ type: "BODY", text: "*{{1}}* is your code." }, { type: "FOOTER", text: "10 minutes" }, OTP],
    },
    { category: "authentication", body: "*{{1}}* is your code.", footer: "10 minutes" },
  ],
  [
    "a picture as header",
    {
      components: [
        { type: "HEADER", format: "IMAGE" },
        { type: "BODY", text: "Hello" },
        {
          type: "BUTTONS",
          buttons: [{ type: "URL", text: "Track", url: "https://example.com/{{1}}", example: ["https://example.com/a"] }],
        },
      ],
    },
    {
      body: "Hello",
      headerMedia: "image",
      buttons: [{ type: "url", text: "Track", url: "https://example.com/{{1}}", phone_number: null }],
    },
  ],
  [
    "a place as header",
    {
      components: [
        { type: "HEADER", format: "LOCATION" },
        { type: "BODY", text: "Hello" },
      ],
    },
    undefined,
  ],
  [
    "a carousel",
    {
      components: [
        { type: "BODY", text: "Hello" },
        { type: "CAROUSEL", cards: [] },
      ],
    },
    undefined,
  ],
  [
    "a button of another kind",
    {
      components: [
        { type: "BODY", text: "Hello" },
        { type: "BUTTONS", buttons: [{ type: "FLOW", text: "Go" }] },
      ],
    },
    undefined,
  ],
  [
    "two bodies",
    {
      components: [
        { type: "BODY", text: "a" },
        { type: "BODY", text: "b" },
      ],
    },
    undefined,
  ],
  ["no text", { components: [] }, undefined],
  ["another category", { category: "SOMETHING" }, undefined],
  ["a language without a counterpart", { language: "prs_AF" }, undefined],
  ["a code without its button", { category: "AUTHENTICATION", components: [{ type: "BODY", text: "{{1}}" }] }, undefined],
];

describe("a listed template", () => {
  for (const [what, fields, content] of READ)
    test(`with ${what} is ${content === undefined ? "listed without content" : "translated to our format"}`, () =>
      withAccount(async (account, graph) => {
        graph.templates.add({ name: "order", ...fields });
        const listed = await account.list(never);
        assert.ok(listed.kind === "listed" && listed.isComplete);
        assert.equal(listed.templates.length, 1);
        const read = listed.templates[0]?.template;
        assert.deepEqual(read, content && template({ language: "en", ...content }));
        if (read !== undefined) assert.ok(account.isSame(read, read));
      }));

  for (const [status, fields, ours] of [
    ["APPROVED", {}, ["approved", null]],
    ["FLAGGED", {}, ["approved", null]],
    ["PENDING", {}, ["pending", null]],
    ["IN_APPEAL", {}, ["pending", null]],
    ["SOMETHING_NEW", {}, ["pending", null]],
    ["REJECTED", { rejected_reason: "PROMOTIONAL" }, ["rejected", "PROMOTIONAL"]],
    ["REJECTED", { rejected_reason: "NONE" }, ["rejected", "WhatsApp has rejected it."]],
    ["PAUSED", {}, ["paused", "WhatsApp has paused it for its low quality."]],
    ["DISABLED", {}, ["paused", "WhatsApp has disabled it."]],
    ["PENDING_DELETION", {}, ["deleted", "It was deleted at WhatsApp."]],
  ] as const)
    test(`as ${status} is ${ours[0]}`, () =>
      withAccount(async (account, graph) => {
        graph.templates.add({ name: "order", status, ...fields });
        const listed = await account.list(never);
        const [one] = listed.kind === "listed" ? listed.templates : [];
        assert.deepEqual([one?.status, one?.reason], ours);
      }));

  test("is read from every page", () =>
    withAccount(async (account, graph) => {
      for (let count = 0; count < 250; count += 1) graph.templates.add({ name: `order_${count}` });
      const listed = await account.list(never);
      assert.ok(listed.kind === "listed" && listed.isComplete);
      assert.equal(new Set(listed.templates.map(({ name }) => name)).size, 250);
      assert.deepEqual(
        graph.seen.map(({ path }) => new URL(path, "http://x").searchParams.get("limit")),
        ["50", "50", "50", "50", "50"],
      );
    }));

  test("is ignored when it is malformed, and endless pages are not followed for ever", () =>
    withAccount(async (account, graph) => {
      graph.templates.junk = [
        null,
        7,
        "x",
        [],
        {},
        { id: "1", name: "x\0", language: "en" },
        { id: 7, name: "fine", language: "en", status: "PENDING" },
      ];
      const listed = await account.list(never);
      assert.ok(listed.kind === "listed" && !listed.isComplete);
      assert.deepEqual(
        listed.templates.map(({ id, name }) => [id, name]),
        [["7", "fine"]],
      );
      let pages = 0;
      graph.templates.behavior = () => ({
        kind: "responds",
        status: 200,
        body: JSON.stringify({ data: [], paging: { next: "x", cursors: { after: String((pages += 1)) } } }),
      });
      const endless = await account.list(never);
      assert.ok(endless.kind === "listed" && !endless.isComplete);
      assert.ok(pages <= 120, `${pages} pages`);
      graph.templates.behavior = () => ({
        kind: "responds",
        status: 200,
        body: JSON.stringify({ data: [], paging: { next: "x", cursors: { after: "same" } } }),
      });
      const circle = await account.list(never);
      assert.ok(circle.kind === "listed" && !circle.isComplete);
    }));

  test("is not read from a page with more values than a page can have", () =>
    withAccount(async (account, graph) => {
      const page = (entries: number): void => {
        graph.templates.behavior = () => answers(200, `{"data":[${"{},".repeat(entries)}{}]}`);
      };
      page(8_000);
      assert.equal((await account.list(never)).kind, "listed");
      page(8_200);
      assert.equal((await account.list(never)).kind, "unavailable");
    }));

  test("has no content if a text is longer than WhatsApp allows", () =>
    withAccount(async (account, graph) => {
      for (const length of [4_096, 4_097]) graph.templates.add({ name: "a", components: [{ type: "BODY", text: "x".repeat(length) }] });
      const listed = await account.list(never);
      assert.ok(listed.kind === "listed");
      assert.deepEqual(
        listed.templates.map(({ template: content }) => content?.body.length),
        [4_096, undefined],
      );
    }));

  test("may be large", () =>
    withAccount(async (account, graph) => {
      for (let count = 0; count < 100; count += 1)
        graph.templates.add({ name: `order_${count}`, components: [{ type: "BODY", text: "x".repeat(5_000) }] });
      const listed = await account.list(never);
      assert.equal(listed.kind === "listed" && listed.templates.length, 100);
    }));
});

const answers = (status: number, body: string, headers: Record<string, string> = {}): CarrierBehavior => ({
  kind: "responds",
  status,
  body,
  headers,
});
const TROUBLES: readonly (readonly [what: string, behavior: CarrierBehavior, kind: string])[] = [
  ["an expired access token", graphError(190, 401), "blocked"],
  ["a missing permission", graphError(200, 403), "blocked"],
  ["an unknown account", graphError(100, 400, { error_subcode: 33 }), "blocked"],
  ["a wrong base URL", answers(404, "<html>"), "blocked"],
  ["too many calls", graphError(80008, 400), "throttled"],
  ["too many calls of the app", graphError(4, 400), "throttled"],
  ["a gateway's 429", answers(429, "", { "retry-after": "7" }), "throttled"],
  ["an internal error at Meta", graphError(2, 500), "unavailable"],
  ["a gateway's 502", answers(502, "bad gateway"), "unavailable"],
  ["a connection that ends", { kind: "disconnects" }, "unavailable"],
  ["a truncated response", { kind: "truncates", status: 200, body: '{"data":[' }, "unavailable"],
  ["a response that is not HTTP", { kind: "sends garbage" }, "unavailable"],
  ["a response that is not JSON", answers(200, "yes"), "unavailable"],
];

describe("an error of the business account", () => {
  for (const [what, behavior, kind] of TROUBLES)
    test(`${what} is ${kind}, and the template is not refused`, () =>
      withAccount(async (account, graph) => {
        graph.templates.behavior = () => behavior;
        for (const outcome of [await account.list(never), await account.submit(template(), undefined, never)]) {
          assert.equal(outcome.kind, kind, JSON.stringify(outcome));
          assert.ok(!JSON.stringify(outcome).includes(GRAPH_SECRETS.accessToken));
        }
        if (kind === "throttled" && "headers" in behavior && behavior.headers?.["retry-after"] !== undefined) {
          const outcome = await account.list(never);
          assert.equal(outcome.kind === "throttled" && outcome.retryAfterMs, 7_000);
        }
      }));

  test("a template that exists already is reported as such", () =>
    withAccount(async (account, graph) => {
      graph.templates.add({ name: "order" });
      assert.equal((await account.submit(template(), undefined, never)).kind, "exists");
    }));

  test("a response larger than the limit of a page is not read", () =>
    withAccount(async (account, graph) => {
      graph.templates.behavior = () => answers(200, JSON.stringify({ data: ["x".repeat(3_000_000)] }));
      assert.equal((await account.list(never)).kind, "unavailable");
    }));

  test("an aborted call ends immediately", () =>
    withAccount(async (account, graph) => {
      graph.templates.behavior = () => ({ kind: "is silent" });
      const limit = new AbortController();
      const listing = account.list(limit.signal);
      setTimeout(() => limit.abort(), 20);
      assert.equal((await settled(listing, "an aborted list")).kind, "unavailable");
    }));
});

test("a deletion names id and name, and an unknown template is refused", () =>
  withAccount(async (account, graph) => {
    const made = graph.templates.add({ name: "order" });
    assert.deepEqual(await account.remove(made, never), { kind: "removed" });
    assert.deepEqual(graph.templates.all, []);
    assert.equal((await account.remove(made, never)).kind, "refused");
  }));

describe("the comparison of templates for the review", () => {
  const SAME: readonly (readonly [what: string, ours: Partial<ReviewableContent>, theirs: Partial<ReviewableContent>, isSame: boolean])[] =
    [
      ["different examples", { examples: { a: "1" } }, {}, true],
      ["different categories", { category: "marketing" }, {}, true],
      ["different bodies", { body: "Other" }, {}, false],
      ["templates with and without a header", { header: "x" }, {}, false],
      ["templates with and without a footer", { footer: "x" }, {}, false],
      [
        "numbers in sequence, and numbers per component",
        { header: "{{1}}", body: "{{1}} {{2}}" },
        { header: "{{1}}", body: "{{2}} {{3}}" },
        true,
      ],
      ["numbers in another order", { body: "{{1}} {{2}}" }, { body: "{{2}} {{1}}" }, false],
      [
        "two codes with different texts",
        { category: "authentication", body: "{{code}}" },
        { category: "authentication", body: "*{{1}}*" },
        true,
      ],
      ["a code and a text without one", { category: "authentication" }, {}, false],
    ];
  for (const [what, ours, theirs, isSame] of SAME)
    test(`${what} ${isSame ? "are the same" : "are different"}`, () =>
      withAccount(async (account) => assert.equal(account.isSame(template(ours), template(theirs)), isSame)));

  test("phone numbers with and without a plus are the same", () =>
    withAccount(async (account) => {
      const call = (number: string) => template({ buttons: [{ type: "phone_number", text: "Call", url: null, phone_number: number }] });
      assert.ok(account.isSame(call("+14155550123"), call("14155550123")));
    }));
});

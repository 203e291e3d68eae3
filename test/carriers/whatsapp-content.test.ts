import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { publishedSchemas, PUBLISHED_WHATSAPP } from "../support/published.ts";
import type { SentContent } from "../../src/model/content.ts";
import type { OutgoingMedia } from "../../src/providers/carrier-file.ts";
import { graphError } from "../support/fakes/graph-templates.ts";
import type { FakeGraph } from "../support/fakes/graph.ts";
import { onLink, send } from "../support/fakes/graph-link.ts";

const BYTES = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 0xff, 13, 10, 45, 45]);

/** A stored file, and the ids that carriers gave it. */
function storedFile(file = "1", bytes = BYTES): OutgoingMedia & { ids: Map<string, string>; reads: number } {
  const ids = new Map<string, string>();
  const stored = {
    file,
    contentType: "image/png",
    bytes: bytes.length,
    fileName: "invoice \u00e4.pdf",
    ids,
    reads: 0,
    async *read() {
      stored.reads += 1;
      for (const byte of bytes) yield Buffer.from([byte]);
    },
    urlBelow: (origin: string) => `${origin}/media/token`,
    uploadedTo: async (account: string) => ids.get(account),
    uploaded: async (account: string, id: string) => void ids.set(account, id),
  };
  return stored;
}

const reference = { media_id: "media_1", file_name: "invoice \u00e4.pdf" };
const picture: SentContent = { type: "media", kind: "image", ...reference, caption: "Here", is_voice: false };

/** The member of the request that has the content. */
const contentOf = (graph: FakeGraph): unknown => {
  const { type, ...message } = graph.messages.at(-1) as Record<string, unknown>;
  return { type, [type as string]: message[type as string], ...(message["context"] === undefined ? {} : { context: message["context"] }) };
};

describe("contents on WhatsApp", () => {
  test("a file is uploaded once, and its messages name the id that WhatsApp gave it", () =>
    onLink(async ({ graph, connection }) => {
      const media = storedFile();
      const outcomes = await Promise.all([
        send(connection, { content: picture, media }),
        send(connection, { content: picture, media, recipient: "+4915112345671" }),
      ]);
      assert.deepEqual(
        outcomes.map(({ kind }) => kind),
        ["accepted", "accepted"],
      );
      await send(connection, { content: picture, media, recipient: "+4915112345672" });
      assert.deepEqual(await graph.uploads, [{ type: "image/png", fileName: encodeURIComponent("invoice \u00e4.pdf"), bytes: BYTES }]);
      const [id] = media.ids.values();
      assert.deepEqual(
        graph.messages.map(({ image }) => image),
        [1, 2, 3].map(() => ({ id, caption: "Here" })),
      );
      assert.equal(media.reads, 1);
    }));

  test("a refused file refuses its message for good, and a failure of WhatsApp makes it wait", () =>
    onLink(async ({ graph, connection }) => {
      graph.uploadBehavior = graphError(100);
      const refused = await send(connection, { content: picture, media: storedFile() });
      assert.partialDeepStrictEqual(refused, { kind: "refused", code: "media_refused_by_carrier", isPermanent: true, providerCode: "100" });
      for (const behavior of [graphError(131016, 500), { kind: "disconnects" } as const]) {
        graph.uploadBehavior = behavior;
        assert.partialDeepStrictEqual(await send(connection, { content: picture, media: storedFile() }), {
          kind: "throttled",
          scope: "recipient",
        });
      }
      assert.deepEqual(graph.messages, []);
      graph.uploadBehavior = undefined;
      assert.partialDeepStrictEqual(await send(connection, { content: picture, media: storedFile() }), { kind: "accepted" });
    }));

  const document = { type: "media", kind: "document", ...reference } as const;
  const cases: readonly (readonly [name: string, content: SentContent, sent: (id: string) => object])[] = [
    [
      "a document with its name",
      { ...document, caption: null, is_voice: false },
      (id) => ({ type: "document", document: { id, filename: reference.file_name } }),
    ],
    [
      "quick replies below a document",
      {
        type: "buttons",
        text: "Is this right?",
        header: document,
        footer: "Your shop",
        buttons: [
          { type: "reply", id: "yes", title: "Yes" },
          { type: "reply", id: "no", title: "No" },
        ],
      },
      (id) => ({
        type: "interactive",
        interactive: {
          type: "button",
          header: { type: "document", document: { id, filename: reference.file_name } },
          body: { text: "Is this right?" },
          footer: { text: "Your shop" },
          action: {
            buttons: [
              { type: "reply", reply: { id: "yes", title: "Yes" } },
              { type: "reply", reply: { id: "no", title: "No" } },
            ],
          },
        },
      }),
    ],
    [
      "a button that opens a page",
      {
        type: "buttons",
        text: "Track it",
        header: { type: "text", text: "Your parcel" },
        footer: null,
        buttons: [{ type: "url", title: "Track", url: "https://example.com/t" }],
      },
      () => ({
        type: "interactive",
        interactive: {
          type: "cta_url",
          header: { type: "text", text: "Your parcel" },
          body: { text: "Track it" },
          action: { name: "cta_url", parameters: { display_text: "Track", url: "https://example.com/t" } },
        },
      }),
    ],
    [
      "a list",
      {
        type: "list",
        text: "When?",
        header: null,
        footer: null,
        button: "Times",
        sections: [
          {
            title: "Monday",
            rows: [
              { id: "1", title: "9:00", description: null },
              { id: "2", title: "10:00", description: "with Ana" },
            ],
          },
        ],
      },
      () => ({
        type: "interactive",
        interactive: {
          type: "list",
          body: { text: "When?" },
          action: {
            button: "Times",
            sections: [
              {
                title: "Monday",
                rows: [
                  { id: "1", title: "9:00" },
                  { id: "2", title: "10:00", description: "with Ana" },
                ],
              },
            ],
          },
        },
      }),
    ],
    [
      "a place",
      { type: "location", latitude: 47.37, longitude: 8.54, name: "Shop", address: null },
      () => ({ type: "location", location: { latitude: 47.37, longitude: 8.54, name: "Shop" } }),
    ],
    [
      "a contact",
      {
        type: "contacts",
        contacts: [
          {
            name: { formatted_name: "Ana Roth", first_name: "Ana", last_name: null, middle_name: null, prefix: null, suffix: null },
            phones: [{ phone: "+4915112345678", type: "WORK", wa_id: null }],
            emails: [],
            urls: [],
            addresses: [],
            org: null,
            birthday: null,
          },
        ],
      },
      () => ({
        type: "contacts",
        contacts: [{ name: { formatted_name: "Ana Roth", first_name: "Ana" }, phones: [{ phone: "+4915112345678", type: "WORK" }] }],
      }),
    ],
  ];
  const requests: object[] = [];
  for (const [name, content, sent] of cases)
    test(name, () =>
      onLink(async ({ graph, connection }) => {
        const media = storedFile();
        assert.partialDeepStrictEqual(
          await send(connection, { content, media: "header" in content || content.type === "media" ? media : undefined }),
          { kind: "accepted" },
        );
        assert.deepEqual(contentOf(graph), sent([...media.ids.values()][0] ?? ""));
        requests.push(graph.messages.at(-1) ?? assert.fail());
      }),
    );

  test("the requests follow the published description", { skip: PUBLISHED_WHATSAPP.skip }, () => {
    const fits = publishedSchemas(PUBLISHED_WHATSAPP);
    assert.equal(requests.length, cases.length);
    for (const request of requests) {
      const { type, interactive } = request as { type: string; interactive?: { type: string } };
      fits("BaseMessageProperties", request);
      // The description has neither buttons that open a page, nor the data that receipts return.
      if (interactive?.type === "cta_url") continue;
      const own = { type, [type]: (request as Record<string, unknown>)[type] };
      fits(`${type.replace(/^./, (letter) => letter.toUpperCase())}Message/allOf/1`, own);
    }
  });

  test("a text that quotes a message names it, and a reaction is nothing else", () =>
    onLink(async ({ graph, connection }) => {
      await send(connection, { body: "Yes", quotes: "wamid.1" });
      assert.partialDeepStrictEqual(contentOf(graph), { type: "text", text: { body: "Yes" }, context: { message_id: "wamid.1" } });
      await send(connection, {
        body: "",
        quotes: "wamid.1",
        content: { type: "reaction", message_id: "msg_1", emoji: null },
        recipient: "+4915112345671",
      });
      assert.deepEqual(contentOf(graph), { type: "reaction", reaction: { message_id: "wamid.1", emoji: "" } });
      const lost = await send(connection, {
        content: { type: "reaction", message_id: "msg_1", emoji: "\u{1f44d}" },
        recipient: "+4915112345672",
      });
      assert.partialDeepStrictEqual(lost, { kind: "refused", code: "reply_target_missing", isPermanent: true });
    }));

  test("a template has its file and the parts of its buttons beside its variables", () =>
    onLink(async ({ graph, connection }) => {
      const template = { name: "receipt", language: "en", category: "utility", header: [], body: [{ name: "1", value: "Ana" }] } as const;
      const media = storedFile();
      const content: SentContent = {
        type: "template",
        header: { ...document },
        buttons: [
          { index: 0, url_suffix: "a1" },
          { index: 1, payload: "later" },
        ],
      };
      await send(connection, { template, content, media });
      const [id] = media.ids.values();
      assert.deepEqual((graph.messages.at(-1) as { template: { components: unknown } }).template.components, [
        { type: "body", parameters: [{ type: "text", text: "Ana" }] },
        { type: "header", parameters: [{ type: "document", document: { id, filename: reference.file_name } }] },
        { type: "button", sub_type: "url", index: "0", parameters: [{ type: "text", text: "a1" }] },
        { type: "button", sub_type: "quick_reply", index: "1", parameters: [{ type: "payload", payload: "later" }] },
      ]);
    }));
});

/** A Cloud API of our own: takes messages as Meta's does, signs what it tells, and plays whatever a test wants for a recipient. */
import { createHmac } from "node:crypto";
import { graphError } from "./graph-error.ts";
import { GraphTemplates, WABA_ID, type GraphTemplate } from "./graph-templates.ts";
import { HttpCarrierServer, type Play, type Seen } from "./http-carrier.ts";

export { graphError };

export const GRAPH_SECRETS = { accessToken: "EAAG-access-token", appSecret: "app-secret-of-ours", verifyToken: "verify-token-of-ours" };
export const PHONE_NUMBER_ID = "106540352242922";
/** The number that the phone number id stands for. */
export const OUR_NUMBER = "+14155550100";

export const GRAPH_RECIPIENTS = {
  delivered: "+15005550006",
  undelivered: "+15005550005",
  refused: "+15005550002",
  throttled: "+15005550012",
  unknown: "+15005550013",
  replies: "+15005550008",
};

export const graphSignature = (body: string | Buffer, secret = GRAPH_SECRETS.appSecret): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** A call as Meta makes it, with what it tells under one field. */
export const graphCall = (value: object, field = "messages", entry: object = {}): string =>
  JSON.stringify({
    object: "whatsapp_business_account",
    entry: [
      {
        id: WABA_ID,
        ...entry,
        changes: [
          {
            field,
            value: {
              messaging_product: "whatsapp",
              metadata: { display_phone_number: OUR_NUMBER.slice(1), phone_number_id: PHONE_NUMBER_ID },
              ...value,
            },
          },
        ],
      },
    ],
  });

/** What became of a template, as Meta tells it: the id is a number there. */
export const templateCall = (template: GraphTemplate, event: string, fields: object = {}, time = Math.floor(Date.now() / 1_000)): string =>
  graphCall(
    {
      event,
      message_template_id: Number(template.id),
      message_template_name: template.name,
      message_template_language: template.language.replace("_", "-"),
      message_template_category: template.category,
      reason: "NONE",
      ...fields,
    },
    "message_template_status_update",
    { id: template.waba, time },
  );

type Sent = { to: string; biz_opaque_callback_data: string };

let ids = 0;

export class FakeGraph {
  /** What it plays, by recipient; whoever is not here is accepted, and told of as delivered. */
  readonly plays = new Map<string, Play | ((seen: Seen) => Play)>();
  /** Where it tells of things; nowhere at first. */
  webhookUrl: string | null = null;
  readonly server: HttpCarrierServer;
  readonly templates = new GraphTemplates();

  private constructor() {
    this.server = new HttpCarrierServer((seen) => this.#play(seen));
    this.plays.set(GRAPH_RECIPIENTS.refused, graphError(131026));
    this.plays.set(GRAPH_RECIPIENTS.throttled, graphError(131056));
    this.plays.set(GRAPH_RECIPIENTS.unknown, { kind: "cuts" });
  }

  static async start(): Promise<FakeGraph> {
    const graph = new FakeGraph();
    await graph.server.listen();
    return graph;
  }

  get url(): string {
    return this.server.url;
  }

  /** The messages it saw, as it read them. */
  get messages(): Record<string, unknown>[] {
    return this.server.seen.filter(({ path }) => path.endsWith("/messages")).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  }

  /** Decides a template, and tells of it where it may. */
  decide(template: GraphTemplate, event: string, fields: { reason?: string; [more: string]: unknown } = {}): void {
    template.status = event;
    template.rejected_reason = fields.reason ?? "NONE";
    this.#call(templateCall(template, event, fields));
  }

  tell(value: object, afterMs = 0): void {
    this.#call(graphCall(value), afterMs);
  }

  /** The calls that were about templates. */
  templateCalls(method?: string): Seen[] {
    return this.server.seen.filter((seen) => !seen.path.endsWith("/messages") && (method === undefined || seen.method === method));
  }

  #call(body: string, afterMs = 0): void {
    if (this.webhookUrl === null) return;
    const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
    this.server.callUntilTaken(this.webhookUrl, headers, body, afterMs);
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #play(seen: Seen): Play {
    const { authorization = "" } = seen.headers;
    if (authorization !== `Bearer ${GRAPH_SECRETS.accessToken}`) return graphError(190, 401);
    const aboutTemplates = this.templates.answer(seen);
    if (aboutTemplates !== undefined) return aboutTemplates;
    const { to, biz_opaque_callback_data: reference } = JSON.parse(seen.body) as Sent;
    const recipient = `+${to}`;
    const play = this.plays.get(recipient);
    const id = `wamid.${Buffer.from(`${to}-${(ids += 1)}`).toString("base64url")}`;
    if (play !== undefined) {
      if (recipient === GRAPH_RECIPIENTS.unknown) this.#tellDelivered(id, to, reference);
      return typeof play === "function" ? play(seen) : play;
    }
    this.#tellOf(id, recipient, reference);
    return {
      kind: "answers",
      status: 200,
      body: JSON.stringify({
        messaging_product: "whatsapp",
        contacts: [{ input: to, wa_id: to }],
        messages: [{ id, message_status: "accepted" }],
      }),
    };
  }

  #tellOf(id: string, recipient: string, reference: string): void {
    const to = recipient.slice(1);
    if (recipient === GRAPH_RECIPIENTS.undelivered) {
      const errors = [{ code: 131049, title: "This message was not delivered to maintain healthy ecosystem engagement." }];
      return this.tell({ statuses: [{ ...status(id, to, reference, "failed"), errors }] });
    }
    this.#tellDelivered(id, to, reference);
    if (recipient !== GRAPH_RECIPIENTS.replies) return;
    const message = { from: to, id: `${id}-reply`, timestamp: "1749416383", type: "text", text: { body: "Thank you" }, context: { id } };
    this.tell({ contacts: [{ wa_id: to, profile: { name: "A" } }], messages: [message] }, 20);
  }

  #tellDelivered(id: string, to: string, reference: string): void {
    this.tell({ statuses: [status(id, to, reference, "sent"), status(id, to, reference, "delivered")] }, 10);
  }
}

export const status = (id: string, to: string, reference: string, word: string): Record<string, unknown> => ({
  id,
  status: word,
  timestamp: "1749416383",
  recipient_id: to,
  biz_opaque_callback_data: reference,
});

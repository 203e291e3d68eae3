/** A fake of Meta's Cloud API: accepts messages, sends signed webhooks, and behaves for each recipient as the test sets. */
import { createHash, createHmac } from "node:crypto";
import { RECIPIENTS, REPLYING_RECIPIENT } from "../recipient.ts";
import { graphError, GraphTemplates, WABA_ID, type GraphTemplate } from "./graph-templates.ts";
import { HttpCarrierServer, respond, type CarrierBehavior, type Seen } from "./http-carrier.ts";

export const GRAPH_SECRETS = { accessToken: "EAAG-access-token", appSecret: "app-secret-of-ours", verifyToken: "verify-token-of-ours" };
export const PHONE_NUMBER_ID = "106540352242922";
/** The phone number that belongs to the phone number id. */
export const OUR_NUMBER = "+14155550100";

export const graphSignature = (body: string | Buffer, secret = GRAPH_SECRETS.appSecret): string =>
  `sha256=${createHmac("sha256", secret).update(body).digest("hex")}`;

/** The body of a webhook of Meta with one change. */
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

/** The webhook of Meta about the status of a template. The template id is a number in it. */
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

/** A file that a person sent. `behavior`: the reaction to a request of its bytes, in place of the bytes. */
type GraphFile = { bytes: Buffer; mimeType: string; behavior?: CarrierBehavior };

/** WhatsApp reads `recipient` only without a `to`. */
type Sent = { to?: string; recipient?: string; biz_opaque_callback_data: string };

export type Uploaded = { type: string; fileName: string; bytes: Buffer };

async function readUpload({ bytes, headers }: Seen): Promise<Uploaded> {
  const type = headers["content-type"] ?? "";
  const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
  const file = form.get("file");
  const kind = form.get("type");
  if (form.get("messaging_product") !== "whatsapp" || !(file instanceof File) || typeof kind !== "string")
    throw new Error("an upload has the product and a file");
  return { type: kind, fileName: file.name, bytes: Buffer.from(await file.arrayBuffer()) };
}

let ids = 0;

export class FakeGraph extends HttpCarrierServer {
  /** The URL for webhooks; no webhooks are sent while it is null. */
  webhookUrl: string | null = null;
  readonly templates = new GraphTemplates();
  /** Replaces the normal response to an upload. */
  uploadBehavior: CarrierBehavior | undefined;
  /** The files of people by their ids. There is an id for each file that is not expired. */
  readonly files = new Map<string, GraphFile>();
  /** The origin of the URLs of files, if it is another. */
  filesOrigin: string | null = null;

  constructor() {
    super();
    this.behaviors.set(RECIPIENTS.refused, graphError(131026));
    this.behaviors.set(RECIPIENTS.throttled, graphError(131056));
    this.behaviors.set(RECIPIENTS.unknown, { kind: "disconnects" });
  }

  /** The parsed bodies of all messages. */
  get messages(): Record<string, unknown>[] {
    return this.seen.filter(({ path }) => path.endsWith("/messages")).map(({ body }) => JSON.parse(body) as Record<string, unknown>);
  }

  /** Sets the status of a template, and sends the webhook about it. */
  decide(template: GraphTemplate, event: string, fields: { reason?: string; [more: string]: unknown } = {}): void {
    template.status = event;
    template.rejected_reason = fields.reason ?? "NONE";
    this.#call(templateCall(template, event, fields));
  }

  notify(value: object, afterMs = 0): void {
    this.#call(graphCall(value), afterMs);
  }

  /** The files that were uploaded. */
  get uploads(): Promise<Uploaded[]> {
    return Promise.all(this.seen.filter(({ path }) => path.endsWith("/media")).map(readUpload));
  }

  /** The requests about templates. */
  templateCalls(method?: string): Seen[] {
    return this.seen.filter((seen) => !/\/(messages|media)$/.test(seen.path) && (method === undefined || seen.method === method));
  }

  #call(body: string, afterMs = 0): void {
    if (this.webhookUrl === null) return;
    const headers = { "content-type": "application/json", "x-hub-signature-256": graphSignature(body) };
    this.callUntilAccepted(this.webhookUrl, headers, body, afterMs);
  }

  protected override behaviorFor(seen: Seen): CarrierBehavior {
    const { authorization = "" } = seen.headers;
    if (authorization !== `Bearer ${GRAPH_SECRETS.accessToken}`) return graphError(190, 401);
    if (seen.method === "GET" && /^\/v[\d.]+\/\d+\?fields=display_phone_number$/.test(seen.path))
      return respond({ id: "1001", display_phone_number: "+1 415 555 0100" });
    if (seen.path.endsWith("/media")) return this.uploadBehavior ?? respond({ id: String((ids += 1) + 1_000_000) });
    const aboutFile = this.#answerAboutFile(seen);
    if (aboutFile !== undefined) return aboutFile;
    const aboutTemplates = this.templates.answer(seen);
    if (aboutTemplates !== undefined) return aboutTemplates;
    const { to: number, recipient: userId = "", biz_opaque_callback_data: reference } = JSON.parse(seen.body) as Sent;
    const to = number ?? userId;
    const recipient = number === undefined ? userId : `+${number}`;
    const behavior = this.behaviors.get(recipient);
    const id = `wamid.${Buffer.from(`${to}-${(ids += 1)}`).toString("base64url")}`;
    if (behavior !== undefined) {
      if (recipient === RECIPIENTS.unknown) this.#notifyDelivered(id, to, reference);
      return typeof behavior === "function" ? behavior(seen) : behavior;
    }
    this.#notifyOutcome(id, recipient, to, reference);
    return respond({
      messaging_product: "whatsapp",
      contacts: [{ input: to, ...(number === undefined ? { user_id: to } : { wa_id: to }) }],
      messages: [{ id, message_status: "accepted" }],
    });
  }

  /** Returns the URL of a file, or the file. */
  #answerAboutFile({ method, path }: Seen): CarrierBehavior | undefined {
    const [, id, mid] = /^\/v[\d.]+\/(\d+)$|^\/whatsapp_business\/attachments\/\?mid=(\d+)$/.exec(path) ?? [];
    const name = id ?? mid;
    if (method !== "GET" || name === undefined) return undefined;
    const file = this.files.get(name);
    if (file === undefined) return graphError(100, 400, { error_subcode: 33, type: "GraphMethodException" });
    const { bytes, mimeType, behavior } = file;
    if (mid !== undefined)
      return (
        behavior ?? {
          kind: "responds",
          status: 200,
          body: bytes,
          headers: { "content-type": mimeType, "content-length": String(bytes.length) },
        }
      );
    const url = `${this.filesOrigin ?? this.url}/whatsapp_business/attachments/?mid=${name}`;
    const sha256 = createHash("sha256").update(bytes).digest("hex");
    return respond({ messaging_product: "whatsapp", url, mime_type: mimeType, sha256, file_size: String(bytes.length), id: name });
  }

  #notifyOutcome(id: string, recipient: string, to: string, reference: string): void {
    if (recipient === RECIPIENTS.undelivered) {
      const errors = [{ code: 131049, title: "This message was not delivered to maintain healthy ecosystem engagement." }];
      return this.notify({ statuses: [{ ...status(id, to, reference, "failed"), errors }] });
    }
    this.#notifyDelivered(id, to, reference);
    if (recipient !== REPLYING_RECIPIENT) return;
    const message = { from: to, id: `${id}-reply`, timestamp: "1749416383", type: "text", text: { body: "Thank you" }, context: { id } };
    this.notify({ contacts: [{ wa_id: to, profile: { name: "A" } }], messages: [message] }, 20);
  }

  #notifyDelivered(id: string, to: string, reference: string): void {
    this.notify({ statuses: [status(id, to, reference, "sent"), status(id, to, reference, "delivered")] }, 10);
  }
}

export const status = (id: string, to: string, reference: string, word: string): Record<string, unknown> => ({
  id,
  status: word,
  timestamp: "1749416383",
  recipient_id: to,
  biz_opaque_callback_data: reference,
});

/** A fake of a carrier with an HTTP API. The test of the carrier supplies its responses and callbacks, in the types of the carrier's
 *  own SDK. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { parse as parseToml } from "smol-toml";
import { withCarrierFiles } from "../../../src/links/carrier-files.ts";
import { readPlan } from "../../../src/links/plan.ts";
import { http, type HttpSettings } from "../../../src/providers/http/http.ts";
import type { Connection, Host } from "../../../src/providers/provider.ts";
import type { ProviderUnderTest } from "../provider-conformance.ts";
import { RECIPIENTS, REPLYING_RECIPIENT } from "../recipient.ts";
import { RecordingHost } from "../recording-host.ts";
import { CallbackServer, HttpCarrierServer, respond, withCarrier, type CarrierBehavior, type Seen } from "./http-carrier.ts";

type CarrierReply = { status: number; body: object };
export type Callback = { headers: Record<string, string>; body: string };
export type ReportedStatus = "sent" | "delivered" | "undelivered";

/** One carrier, as its SDK describes it. */
export type HttpApi = {
  /** The name of its file in packaging/carriers. */
  carrier: string;
  /** The members of the link's table beside those of the carrier file. */
  link?: Readonly<Record<string, unknown>>;
  secrets: Readonly<Record<string, string>>;
  recipientOf: (seen: Seen) => string;
  accepted: (id: string) => CarrierReply;
  refused: CarrierReply;
  throttled: CarrierReply;
  /** The URL that the carrier calls for a message, and the callback itself. */
  callbackUrlOf: (seen: Seen, callbackUrl: string) => string;
  receipt: (seen: Seen, id: string, status: ReportedStatus) => Callback;
  inbound: (fields: { id: string; from: string; to: string; text: string; inReplyTo: string }) => Callback;
};

const FOLDER = join(import.meta.dirname, "..", "..", "..", "packaging", "carriers");
const LINK_NAME = "main";

/** The settings of a link with the carrier file, which sends to `origin` in place of the carrier's host. */
export function carrierSettings({ carrier, link = {}, secrets }: HttpApi, origin: string, publicUrl: string): HttpSettings {
  const { request } = parseToml(readFileSync(join(FOLDER, `${carrier}.toml`), "utf8")) as { request: { url: string } };
  const table = {
    name: LINK_NAME,
    provider: "http",
    carrier,
    public_url: publicUrl,
    rate: 10_000,
    window: 100,
    ...link,
    request: { url: request.url.replace(/^https:\/\/[^/]+/, origin) },
  };
  const faults: string[] = [];
  const { links } = readPlan(withCarrierFiles({ link: [table] }, undefined, faults), (variable) => secrets[variable], faults);
  if (faults.length > 0) throw new Error(faults.join("\n"));
  return links[0]?.settings as HttpSettings;
}

let ids = 0;

class FakeHttpApi extends HttpCarrierServer {
  readonly #api: HttpApi;
  readonly #callbackUrl: string;

  constructor(api: HttpApi, callbackUrl = "") {
    super();
    this.#api = api;
    this.#callbackUrl = callbackUrl;
  }

  protected override behaviorFor(seen: Seen): CarrierBehavior {
    const { recipientOf, accepted, refused, throttled } = this.#api;
    const recipient = recipientOf(seen);
    if (recipient === RECIPIENTS.refused) return replyWith(refused);
    if (recipient === RECIPIENTS.throttled) return replyWith(throttled);
    const id = `carrier-${(ids += 1)}`;
    this.#report(seen, id, recipient);
    return recipient === RECIPIENTS.unknown ? { kind: "disconnects" } : replyWith(accepted(id));
  }

  #report(seen: Seen, id: string, recipient: string): void {
    const { callbackUrlOf, receipt, inbound } = this.#api;
    if (this.#callbackUrl === "") return;
    const url = callbackUrlOf(seen, this.#callbackUrl);
    const call = ({ headers, body }: Callback, afterMs: number): void =>
      this.callUntilAccepted(url, { "content-type": "application/json", ...headers }, body, afterMs);
    call(receipt(seen, id, "sent"), 10);
    call(receipt(seen, id, recipient === RECIPIENTS.undelivered ? "undelivered" : "delivered"), 20);
    if (recipient === REPLYING_RECIPIENT)
      call(inbound({ id: `${id}-reply`, from: recipient, to: "+14155550100", text: "Thanks", inReplyTo: id }), 20);
  }
}

const replyWith = ({ status, body }: CarrierReply): CarrierBehavior => respond(body, status, { "retry-after": "0" });

async function open(api: HttpApi, host: Host): Promise<Connection> {
  const late: { settings?: HttpSettings } = {};
  const callbacks = await CallbackServer.open(async (request) => {
    if (late.settings === undefined) throw new Error("a callback before the link was opened");
    return http.handleRequest?.(late.settings, request, host) ?? Promise.reject(new Error("no response"));
  });
  const carrier = await new FakeHttpApi(api, callbacks.url(`/providers/http/${LINK_NAME}`)).listen();
  late.settings = carrierSettings(api, carrier.url, callbacks.url(""));
  return withCarrier(await http.open(late.settings, host), carrier, callbacks);
}

async function openMute(api: HttpApi, host: Host): Promise<Connection> {
  const carrier = await new HttpCarrierServer().listen();
  const settings = carrierSettings(api, carrier.url, "http://127.0.0.1:1");
  return withCarrier(await http.open(settings, host), carrier);
}

/** The carrier file in front of the fake, for the conformance suite. */
export const carrierUnderTest = (api: HttpApi, isReplying = false): ProviderUnderTest => ({
  name: `the carrier file ${api.carrier}`,
  channels: ["sms"],
  open: (host) => open(api, host),
  openMute: (host) => openMute(api, host),
  recipients: isReplying ? { ...RECIPIENTS, replies: REPLYING_RECIPIENT } : RECIPIENTS,
  givesReferenceBack: true,
});

/** The requests for one message: of our link, and of a call of the carrier's SDK to the same fake. */
export async function compareRequests(
  api: HttpApi,
  sendOurs: (connection: Connection) => Promise<unknown>,
  sendTheirs: (origin: string) => Promise<unknown>,
): Promise<{ ours: Seen; theirs: Seen }> {
  const carrier = await new FakeHttpApi(api).listen();
  const connection = await http.open(carrierSettings(api, carrier.url, "https://godwit.example"), new RecordingHost());
  try {
    await sendOurs(connection);
    await sendTheirs(carrier.url);
    const [ours, theirs] = carrier.seen;
    if (ours === undefined || theirs === undefined) throw new Error("a request is missing");
    return { ours, theirs };
  } finally {
    await connection.close();
    await carrier.close();
  }
}

/** A carrier that is polled: the conformance suite, and the stored position. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { poll } from "../../src/lib/wait.ts";
import { readPlan } from "../../src/links/plan.ts";
import { http, type HttpSettings } from "../../src/providers/http/http.ts";
import type { LeasedHost, PollCursor } from "../../src/providers/provider.ts";
import { LIMIT_MS } from "../support/expect.ts";
import { HttpCarrierServer, withCarrier, type CarrierBehavior, type Seen } from "../support/fakes/http-carrier.ts";
import { describeProvider } from "../support/provider-conformance.ts";
import { mayLeave, outgoing, RecordingHost } from "../support/recording-host.ts";

const RECIPIENTS = {
  delivered: "+15005550006",
  undelivered: "+15005550005",
  refused: "+15005550002",
  throttled: "+15005550012",
  unknown: "+15005550013",
};
const REPLIES = "+15005550017";
const PAGE = 3;

type Report = { id: string; ref?: string; state?: string; from?: string; to?: string; text?: string; answers?: string };
type Sent = { to: string; ref: string };

/** Keeps its reports, and returns a page of those after a position. */
class PolledCarrier {
  readonly reports: Report[] = [];
  readonly positions: string[] = [];
  readonly server = new HttpCarrierServer((seen) => this.#behaviorFor(seen));
  isMute = false;
  #ids = 0;

  static async start(): Promise<PolledCarrier> {
    const carrier = new PolledCarrier();
    await carrier.server.listen();
    return carrier;
  }

  close(): Promise<void> {
    return this.server.close();
  }

  #behaviorFor({ method, path, body }: Seen): CarrierBehavior {
    if (this.isMute) return { kind: "is silent" };
    if (method === "GET") return this.#page(new URL(path, "http://x").searchParams.get("after"));
    const { to, ref } = JSON.parse(body) as Sent;
    if (to === RECIPIENTS.refused) return { kind: "responds", status: 422, body: "{}" };
    if (to === RECIPIENTS.throttled) return { kind: "responds", status: 429, headers: { "retry-after": "0" }, body: "{}" };
    const id = `c${(this.#ids += 1)}`;
    this.reports.push({ id, ref, state: "sent" }, { id, ref, state: to === RECIPIENTS.undelivered ? "failed" : "delivered" });
    if (to === REPLIES) this.reports.push({ id: `${id}-reply`, from: to, to: "+14155550100", text: "Thanks", answers: id });
    return to === RECIPIENTS.unknown ? { kind: "disconnects" } : { kind: "responds", status: 200, body: JSON.stringify({ id }) };
  }

  #page(after: string | null): CarrierBehavior {
    const from = Number(after ?? 0);
    this.positions.push(after ?? "none");
    const reports = this.reports.slice(from, from + PAGE);
    return { kind: "responds", status: 200, body: JSON.stringify({ reports, next: String(from + reports.length) }) };
  }
}

function settingsFor(origin: string, everySeconds = 1): HttpSettings {
  const faults: string[] = [];
  const items = "$.reports[*]";
  const link = {
    name: "acme",
    provider: "http",
    rate: 10_000,
    window: 100,
    request: { url: `${origin}/send`, body: { to: "{{recipient}}", ref: "{{id}}", text: "{{body}}" } },
    response: { id: "$.id" },
    poll: { url: `${origin}/reports`, query: { after: "{{cursor}}" }, next: "$.next", every_seconds: everySeconds },
    receipts: {
      items,
      when: { path: "$.state" },
      id: "$.id",
      reference: "$.ref",
      status: "$.state",
      statuses: { sent: ["sent"], delivered: ["delivered"], undelivered: ["failed"] },
    },
    inbound: { items, when: { path: "$.text" }, id: "$.id", from: "$.from", to: "$.to", text: "$.text", in_reply_to: "$.answers" },
  };
  const { links } = readPlan({ link: [link] }, () => undefined, faults);
  assert.deepEqual(faults, []);
  return links[0]?.settings as HttpSettings;
}

describeProvider({
  name: "an HTTP carrier that is polled",
  channels: ["sms"],
  open: async (host) => {
    const carrier = await PolledCarrier.start();
    return withCarrier(await http.open(settingsFor(carrier.server.url), host), carrier);
  },
  openMute: async (host) => {
    const carrier = await PolledCarrier.start();
    carrier.isMute = true;
    return withCarrier(await http.open(settingsFor(carrier.server.url), host), carrier);
  },
  recipients: RECIPIENTS,
  givesReferenceBack: true,
});

class CursorHost extends RecordingHost implements LeasedHost {
  readonly stored: string[];
  readonly cursor: PollCursor = {
    read: async () => this.stored.at(-1) ?? null,
    store: async (position) => void this.stored.push(position),
  };

  constructor(stored: string[] = []) {
    super();
    this.stored = stored;
  }

  async untilReceipts(count: number): Promise<void> {
    const arrived = await poll(async () => (this.receipts.length >= count ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 5 });
    assert.ok(arrived, `${this.receipts.length} of ${count} receipts`);
  }
}

test("the position is stored after the reports before it, and the next node continues there", async () => {
  const carrier = await PolledCarrier.start();
  const first = new CursorHost();
  const link = await http.open(settingsFor(carrier.server.url), first);
  const send = (): Promise<unknown> => link.send(outgoing({ recipient: RECIPIENTS.delivered }), new AbortController().signal, mayLeave);
  for (let sent = 0; sent < 4; sent += 1) await send();
  await first.untilReceipts(8);
  await link.close();
  assert.equal(first.stored.at(-1), "8");
  assert.deepEqual(first.receipts.map(({ status }) => status).filter((status) => status === "delivered").length, 4);

  carrier.reports.push({ id: "c9", state: "delivered" });
  const before = carrier.positions.length;
  const second = new CursorHost(first.stored);
  const next = await http.open(settingsFor(carrier.server.url), second);
  await second.untilReceipts(1);
  await next.close();
  await carrier.close();
  assert.equal(carrier.positions[before], "8", "the first page after the restart");
  assert.deepEqual(
    second.receipts.map(({ providerMessageId }) => providerMessageId),
    ["c9"],
  );
});

test("pages without reports are not fetched without end, also where each names another position", async () => {
  let pages = 0;
  const server = await new HttpCarrierServer(() => ({
    kind: "responds",
    status: 200,
    body: JSON.stringify({ reports: [], next: `at-${(pages += 1)}` }),
  })).listen();
  const host = new CursorHost();
  const link = await http.open(settingsFor(server.url, 3_600), host);
  await poll(async () => (pages >= 10 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 5 });
  await sleep(300);
  assert.equal(pages, 10);
  await link.close();
  await server.close();
});

test("a reply is among the reports", async () => {
  const carrier = await PolledCarrier.start();
  const host = new CursorHost();
  const link = await http.open(settingsFor(carrier.server.url), host);
  await link.send(outgoing({ recipient: REPLIES }), new AbortController().signal, mayLeave);
  await host.untilReceipts(2);
  assert.ok(await poll(async () => (host.messages.length > 0 ? true : undefined), { timeoutMs: LIMIT_MS, everyMs: 5 }), "a reply");
  await link.close();
  await carrier.close();
  assert.deepEqual(host.messages, [
    { providerMessageId: "c1-reply", channel: "sms", from: REPLIES, to: "+14155550100", text: "Thanks", inReplyTo: "c1" },
  ]);
});

test("a page that cannot be committed is fetched again, and the position stays", async () => {
  const carrier = await PolledCarrier.start();
  carrier.reports.push({ id: "c1", state: "delivered" });
  const host = new CursorHost();
  host.behave("rejects");
  const link = await http.open(settingsFor(carrier.server.url), host);
  await host.untilCalled(2);
  assert.deepEqual(host.stored, []);
  host.behave("accepts");
  await host.untilReceipts(1);
  await link.close();
  await carrier.close();
  assert.deepEqual(host.stored, ["1"]);
});

test("a node that has lost the lease polls nothing", async () => {
  const carrier = await PolledCarrier.start();
  const host = new CursorHost();
  host.isLeaseHeld = false;
  const link = await http.open(settingsFor(carrier.server.url), host);
  host.isLeaseHeld = true;
  carrier.reports.push({ id: "c1", state: "delivered" });
  await host.untilReceipts(1);
  await link.close();
  await carrier.close();
  // The first turn was before the lease, and a second one found the report.
  assert.deepEqual(carrier.positions.filter((position) => position === "none").length, 1);
});

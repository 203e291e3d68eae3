/** A link to a carrier by SMPP: transceivers, or transmitters and receivers, which share the window and the rate. */
import { randomInt } from "node:crypto";
import { poll } from "../../lib/wait.ts";
import { digitsOf, type Recipient } from "../../model/phone-number.ts";
import { hasLease, LINK_CLOSED, NOT_SENT } from "../provider.ts";
import type { Begin, Connection, LeasedHost, LinkState, Outgoing, SendOutcome } from "../provider.ts";
import { Bind, type BindMode } from "./bind.ts";
import { Inbox } from "./inbox.ts";
import type { Address, ShortMessage } from "./pdu.ts";
import { smppTimes, smscAddresses, type SmppSettings, type SmppTimes } from "./settings.ts";
import { statusesOf, type Refused, type Statuses } from "./status.ts";
import { SubmitQueue } from "./submit-queue.ts";
import { submit, type Submission } from "./submit.ts";
import { encodeText } from "./text.ts";
import { findTlvOptionFaults, tlvsOf } from "./tlvs.ts";

const refused = (code: string, message: string): Refused => ({ kind: "refused", code, message, providerCode: null, isPermanent: true });

// An attempt may take a minute. The rest of the minute is for the carrier's responses.
const MAX_SUBMIT_SECONDS = 45;
// A message waits at most half of `turnMs` for its turn, if every message has one part.
const WINDOW_SECONDS = 5;

/** The number of messages on the link at a time. Few, since a message that waits here cannot be overtaken by an urgent one, as it can
 *  in the queue. */
const messageWindow = ({ window, partsPerSecond }: SmppSettings): number =>
  partsPerSecond === null ? window : Math.min(window, Math.max(1, Math.ceil(partsPerSecond * WINDOW_SECONDS)));

export class SmppLink implements Connection {
  readonly window: number;
  readonly #settings: SmppSettings;
  readonly #times: SmppTimes;
  readonly #host: LeasedHost;
  readonly #statuses: Statuses;
  readonly #inbox: Inbox;
  readonly #queue: SubmitQueue;
  /** The binds of each mode. */
  readonly #binds: readonly (readonly Bind[])[];
  // The reference of the last long message. The first is random, so that a restart does not repeat the references of the last minute.
  #reference = randomInt(0x10000);
  #sending = 0;
  #isClosed = false;

  constructor(settings: SmppSettings, host: LeasedHost) {
    this.window = messageWindow(settings);
    this.#settings = settings;
    this.#times = smppTimes(settings);
    this.#host = host;
    this.#statuses = statusesOf(settings);
    this.#inbox = new Inbox(settings, host);
    const changed = (): void => this.#changed();
    const { window, partsPerSecond } = settings;
    this.#queue = new SubmitQueue({ window, partsPerSecond, times: this.#times, hasLease: () => hasLease(host), changed });
    const modes: readonly BindMode[] = settings.bindMode === "pair" ? ["transmitter", "receiver"] : [settings.bindMode];
    this.#binds = modes.map((mode) => Array.from({ length: settings.binds }, (_, index) => this.#bind(mode, index)));
  }

  get isReady(): boolean {
    return !this.#isClosed && this.#queue.isOpen;
  }

  /** The worst state of the modes. One bind of a mode is enough. */
  get state(): LinkState {
    const states = this.#binds.map(bestState);
    const worst = states.find(({ kind }) => kind === "paused") ?? states.find(({ kind }) => kind === "connecting");
    if (worst !== undefined) return worst;
    return this.#queue.isPaused ? { kind: "throttled", reason: "the carrier wants it slower" } : { kind: "connected", reason: null };
  }

  async send(message: Outgoing, signal: AbortSignal, begin: Begin, renew = () => signal): Promise<SendOutcome> {
    if (this.#isClosed) return LINK_CLOSED;
    if (signal.aborted) return NOT_SENT;
    const submission = this.#toSubmission(message);
    if ("kind" in submission) return submission;
    this.#sending += 1;
    try {
      return await submit({
        ...submission,
        reference: message.id,
        queue: this.#queue,
        responseMs: this.#times.responseMs,
        signal,
        renew,
        begin,
        statuses: this.#statuses,
        onLateReceipts: (receipts) => this.#inbox.forward(receipts),
      });
    } finally {
      this.#sending -= 1;
    }
  }

  /** Waits a moment for outstanding responses, then unbinds. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#queue.close();
    await poll(async () => (this.#sending === 0 ? true : undefined), { timeoutMs: this.#times.drainMs, everyMs: 5 });
    await this.#inbox.close();
    await Promise.all(this.#binds.flat().map((bind) => bind.close()));
  }

  /** The binds begin with different addresses, so that the failure of one host does not end them all. */
  #bind(mode: BindMode, index: number): Bind {
    const isSending = mode !== "receiver";
    const addresses = smscAddresses(this.#settings);
    const first = index % addresses.length;
    return new Bind({
      mode,
      settings: this.#settings,
      addresses: [...addresses.slice(first), ...addresses.slice(0, first)],
      log: this.#host.log,
      deliver: (short) => this.#inbox.receive(short),
      onAcknowledged: (short, isWritten) => this.#inbox.acknowledged(short, isWritten),
      onBound: (session) => {
        if (isSending) this.#queue.addSession(session);
      },
      onClosing: (session) => this.#queue.removeSession(session),
      changed: () => this.#changed(),
    });
  }

  #changed(): void {
    if (!this.#isClosed) this.#host.changed();
  }

  /** The submit_sm of each part, or the reason why the message cannot be sent. If the carrier has accepted some of the same parts
   *  before, the others have the same reference, so that phones put them together. */
  #toSubmission(message: Outgoing): Pick<Submission, "parts" | "partsReference" | "acceptedIds"> | Refused {
    const { acceptedParts } = message;
    const again = acceptedParts && this.#toParts(message, acceptedParts.reference);
    if (Array.isArray(again) && again.length === acceptedParts?.total)
      return { parts: again, partsReference: acceptedParts.reference, acceptedIds: acceptedParts.ids };
    this.#reference = (this.#reference + 1) & 0xffff;
    const parts = this.#toParts(message, this.#reference);
    return Array.isArray(parts) ? { parts, partsReference: this.#reference, acceptedIds: [] } : parts;
  }

  #toParts(message: Outgoing, reference: number): ShortMessage[] | Refused {
    const { sourceTon, sourceNpi, destinationTon, destinationNpi, serviceType, registeredDelivery } = this.#settings;
    const options = message.carrierOptions ?? {};
    // The message may have been accepted for another link, or with other settings.
    const [unfit] = findTlvOptionFaults(options, this.#settings);
    if (unfit !== undefined) return refused("carrier_options_refused", unfit.detail);
    const leftMs = message.expiresAtMs - this.#host.now();
    if (leftMs <= 0) return refused("ttl_expired", "The message was not submitted to a carrier within its time to live.");
    const source = toSource(message.sender, { ton: sourceTon, npi: sourceNpi });
    if (source === undefined) return refused("invalid_sender", "The sender is none that a carrier could take");
    const destination = toDestination(message.recipient, { ton: destinationTon, npi: destinationNpi });
    const parts = encodeText(message.body, { ...this.#settings, isFlash: options["flash"] === true }, reference);
    if (parts === undefined) return refused("message_too_long", "The text has more parts than can be tied together");
    if (parts.length > 1 && parts.length > (this.#settings.partsPerSecond ?? Infinity) * MAX_SUBMIT_SECONDS)
      return refused("message_too_long", "The text has more parts than the rate of the link lets through while a message is sent");
    const validFor = VALIDITY[this.#settings.validity](leftMs, message.expiresAtMs);
    const rest = { protocolId: 0, priority: priorityOf(message, this.#settings), scheduledFor: "", validFor, registeredDelivery };
    const tlvs = tlvsOf(this.#settings, options);
    return parts.map((part) => ({ serviceType, source, destination, ...rest, ...part, tlvs: new Map([...tlvs, ...part.tlvs]) }));
  }
}

const BEST_FIRST: readonly LinkState["kind"][] = ["connected", "connecting", "paused"];

const bestState = (binds: readonly Bind[]): LinkState =>
  binds.map(({ state }) => state).toSorted((a, b) => BEST_FIRST.indexOf(a.kind) - BEST_FIRST.indexOf(b.kind))[0] ?? UNBOUND;

const UNBOUND: LinkState = { kind: "connecting", reason: null };

// The field has room for years. A carrier that keeps a message for a month may keep it for ever.
const MAX_VALIDITY_SECONDS = 30 * 86_400;

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** The validity_period, of 16 characters. Every form is rounded down to seconds, since nothing may be delivered later. */
const VALIDITY: Readonly<Record<SmppSettings["validity"], (leftMs: number, expiresAtMs: number) => string>> = {
  relative: relativeValidity,
  absolute: (leftMs, expiresAtMs) => absoluteValidity(Math.min(expiresAtMs, expiresAtMs - leftMs + MAX_VALIDITY_SECONDS * 1_000)),
  none: () => "",
};

/** How long, as `YYMMDDhhmmsstnnR`: the carrier's clock may differ from ours. At least one second, since zero stands for the carrier's
 *  default. */
function relativeValidity(leftMs: number): string {
  const seconds = Math.min(MAX_VALIDITY_SECONDS, Math.max(1, Math.floor(leftMs / 1_000)));
  return `0000${two(seconds / 86_400)}${two((seconds / 3_600) % 24)}${two((seconds / 60) % 60)}${two(seconds % 60)}000R`;
}

/** Until when, in UTC, as `YYMMDDhhmmss000+`. */
const absoluteValidity = (untilMs: number): string => `${new Date(untilMs).toISOString().replaceAll(/\D/g, "").slice(2, 14)}000+`;

const priorityOf = ({ priority = "normal" }: Outgoing, { priorityFlag }: SmppSettings): number =>
  typeof priorityFlag === "number" ? priorityFlag : (priorityFlag[priority] ?? 0);

// Type of number and numbering plan follow from the form of an address.
const INTERNATIONAL = { ton: 1, npi: 1 };
const SHORT_CODE = { ton: 3, npi: 0 };
const ALPHANUMERIC = { ton: 5, npi: 0 };
const UNKNOWN = { ton: 0, npi: 0 };

// The field has 21 bytes with a final zero. Networks accept eleven letters, and some carriers more.
const ALPHANUMERIC_FORM = /^[ -~]{1,20}$/;
const SHORT_CODE_FORM = /^\d{1,8}$/;
const INTERNATIONAL_FORM = /^\+?\d{1,20}$/;

type Override = { ton?: number | undefined; npi?: number | undefined };

export const toDestination = (recipient: Recipient, { ton, npi }: Override): Address => ({
  ton: ton ?? INTERNATIONAL.ton,
  npi: npi ?? INTERNATIONAL.npi,
  text: digitsOf(recipient),
});

/** Undefined for a sender that no carrier accepts. A message without a sender has an empty address, in whose place the carrier puts
 *  its own. */
export function toSource(sender: string | null, { ton, npi }: Override): Address | undefined {
  const form = addressByForm(sender ?? "");
  return form && { ton: ton ?? form.ton, npi: npi ?? form.npi, text: form.text };
}

function addressByForm(value: string): Address | undefined {
  if (value === "") return { ...UNKNOWN, text: "" };
  if (SHORT_CODE_FORM.test(value)) return { ...SHORT_CODE, text: value };
  if (INTERNATIONAL_FORM.test(value)) return { ...INTERNATIONAL, text: value.replace("+", "") };
  return ALPHANUMERIC_FORM.test(value) ? { ...ALPHANUMERIC, text: value } : undefined;
}

/** A link to a carrier by SMPP: one transceiver, or a transmitter and a receiver. */
import { randomInt } from "node:crypto";
import { poll } from "../../lib/wait.ts";
import { hasLease, notSent } from "../provider.ts";
import type { Begin, Connection, LeasedHost, LinkState, Outgoing, SendOutcome } from "../provider.ts";
import { toDestination, toSource } from "./address.ts";
import { Bind, type BindMode } from "./bind.ts";
import { Inbox } from "./inbox.ts";
import type { ShortMessage } from "./pdu.ts";
import type { Session } from "./session.ts";
import { smppTimes, type SmppSettings, type SmppTimes } from "./settings.ts";
import type { Refused } from "./status.ts";
import { SubmitQueue } from "./submit-queue.ts";
import { submit } from "./submit.ts";
import { encodeText } from "./text.ts";

const refused = (code: string, message: string): Refused => ({ kind: "refused", code, message, providerCode: null, isPermanent: true });
const CLOSED = notSent("link_closed");
const NOT_SENT = notSent("not_sent");

// An attempt may take a minute. The rest of the minute is for the carrier's responses.
const MAX_SUBMIT_SECONDS = 45;
// A message waits at most half of `turnMs` for its turn, where every message has one part.
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
  readonly #inbox: Inbox;
  readonly #queue: SubmitQueue;
  readonly #binds: readonly Bind[];
  // The reference of the last long message. The first is random, so that a restart does not repeat the references of the last minute.
  #reference = randomInt(0x10000);
  #sending = 0;
  #isClosed = false;

  /** `recentIds`: the carrier ids of earlier messages, the oldest first. */
  constructor(settings: SmppSettings, host: LeasedHost, recentIds: readonly string[] = []) {
    this.window = messageWindow(settings);
    this.#settings = settings;
    this.#times = smppTimes(settings);
    this.#host = host;
    this.#inbox = new Inbox(settings, host);
    for (const id of recentIds) this.#inbox.ids.remember(id);
    const changed = (): void => this.#changed();
    const { window, partsPerSecond } = settings;
    this.#queue = new SubmitQueue({ window, partsPerSecond, times: this.#times, hasLease: () => hasLease(host), changed });
    this.#binds = settings.bindMode === "pair" ? [this.#bind("transmitter"), this.#bind("receiver")] : [this.#bind("transceiver")];
  }

  get isReady(): boolean {
    return !this.#isClosed && this.#queue.isOpen;
  }

  /** The worst state of the binds. */
  get state(): LinkState {
    const states = this.#binds.map((bind) => bind.state);
    const worst = states.find(({ kind }) => kind === "paused") ?? states.find(({ kind }) => kind === "connecting");
    if (worst !== undefined) return worst;
    return this.#queue.isPaused ? { kind: "throttled", reason: "the carrier wants it slower" } : { kind: "connected", reason: null };
  }

  async send(message: Outgoing, signal: AbortSignal, begin: Begin): Promise<SendOutcome> {
    if (this.#isClosed) return CLOSED;
    if (signal.aborted) return NOT_SENT;
    const parts = this.#toParts(message);
    if (!Array.isArray(parts)) return parts;
    this.#sending += 1;
    try {
      return await submit({
        reference: message.id,
        parts,
        queue: this.#queue,
        responseMs: this.#times.responseMs,
        signal,
        begin,
        onCarrierId: (id) => this.#inbox.ids.remember(id),
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
    await Promise.all(this.#binds.map((bind) => bind.close()));
  }

  #bind(mode: BindMode): Bind {
    const isSending = mode !== "receiver";
    return new Bind({
      mode,
      settings: this.#settings,
      log: this.#host.log,
      deliver: (short) => this.#inbox.receive(short),
      onNotAcknowledged: (short) => this.#inbox.expectRepeat(short),
      onSession: (session: Session | undefined) => {
        if (isSending) this.#queue.use(session);
      },
      changed: () => this.#changed(),
    });
  }

  #changed(): void {
    if (!this.#isClosed) this.#host.changed();
  }

  /** The submit_sm of each part, or the reason why the message cannot be sent. */
  #toParts(message: Outgoing): ShortMessage[] | Refused {
    const { sourceTon, sourceNpi, destinationTon, destinationNpi, serviceType, registeredDelivery } = this.#settings;
    const leftMs = message.expiresAtMs - this.#host.now();
    if (leftMs <= 0) return refused("ttl_expired", "The message was not handed to a carrier within its time to live.");
    const source = toSource(message.sender, { ton: sourceTon, npi: sourceNpi });
    if (source === undefined) return refused("invalid_sender", "The sender is none that a carrier could take");
    const destination = toDestination(message.recipient, { ton: destinationTon, npi: destinationNpi });
    this.#reference = (this.#reference + 1) & 0xffff;
    const parts = encodeText(message.body, this.#settings, this.#reference);
    if (parts === undefined) return refused("message_too_long", "The text has more parts than can be tied together");
    if (parts.length > 1 && parts.length > (this.#settings.partsPerSecond ?? Infinity) * MAX_SUBMIT_SECONDS)
      return refused("message_too_long", "The text has more parts than the rate of the link lets through while a message is sent");
    const rest = { protocolId: 0, priority: 0, scheduledFor: "", validFor: validityPeriod(leftMs), registeredDelivery };
    return parts.map((part) => ({ serviceType, source, destination, ...rest, ...part }));
  }
}

// The field has room for years. A carrier that keeps a message for a month may keep it for ever.
const MAX_VALIDITY_SECONDS = 30 * 86_400;

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** The validity_period: how long the carrier may attempt the delivery, as `YYMMDDhhmmsstnnR`. It is relative, since the carrier's clock
 *  may differ from ours. It is rounded down to seconds, since nothing may be delivered later; at least one second, since zero stands
 *  for the carrier's default. */
function validityPeriod(leftMs: number): string {
  const seconds = Math.min(MAX_VALIDITY_SECONDS, Math.max(1, Math.floor(leftMs / 1_000)));
  return `0000${two(seconds / 86_400)}${two((seconds / 3_600) % 24)}${two((seconds / 60) % 60)}${two(seconds % 60)}000R`;
}

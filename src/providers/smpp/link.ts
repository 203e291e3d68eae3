/** A link to a carrier that speaks SMPP: one transceiver, or a transmitter and a receiver. */
import { randomInt } from "node:crypto";
import { poll } from "../../lib/wait.ts";
import { hasLease, notSent, type Connection, type LeasedHost, type LinkState, type Outgoing, type SendOutcome } from "../provider.ts";
import { destinationOf, sourceOf } from "./address.ts";
import { Bind, type BindMode } from "./bind.ts";
import { Gate } from "./gate.ts";
import { Inbox } from "./inbox.ts";
import type { Short } from "./pdu.ts";
import type { Session } from "./session.ts";
import { timesOf, type SmppSettings, type SmppTimes } from "./settings.ts";
import type { Refused } from "./status.ts";
import { submit } from "./submit.ts";
import { encodeText } from "./text.ts";

const refused = (code: string, message: string): Refused => ({ kind: "refused", code, message, providerCode: null, isPermanent: true });
const CLOSED = notSent("link_closed");
const UNSENT: SendOutcome = { kind: "unknown", detail: "given up before it was sent" };

// Of the minute that a try may take: what is left is for the carrier's answers.
const MAX_SENDING_SECONDS = 45;
// What is handed over waits half of that at most, where every message is one part.
const WINDOW_SECONDS = 5;

/** What is in hand waits here for its turn, and not in the queue, where the urgent would pass it. */
const messagesInHand = ({ window, partsPerSecond }: SmppSettings): number =>
  partsPerSecond === null ? window : Math.min(window, Math.max(1, Math.ceil(partsPerSecond * WINDOW_SECONDS)));

export class SmppLink implements Connection {
  readonly window: number;
  readonly #settings: SmppSettings;
  readonly #times: SmppTimes;
  readonly #host: LeasedHost;
  readonly #inbox: Inbox;
  readonly #gate: Gate;
  readonly #binds: readonly Bind[];
  // Of the last long message; random, so that a restart does not repeat those of a minute ago.
  #reference = randomInt(0x10000);
  #sending = 0;
  #isClosed = false;

  /** `names`: what the carrier called messages before, the oldest first. */
  constructor(settings: SmppSettings, host: LeasedHost, names: readonly string[] = []) {
    this.window = messagesInHand(settings);
    this.#settings = settings;
    this.#times = timesOf(settings);
    this.#host = host;
    this.#inbox = new Inbox(settings, host);
    for (const name of names) this.#inbox.ids.remember(name);
    const changed = (): void => this.#changed();
    const { window, partsPerSecond } = settings;
    this.#gate = new Gate({ window, partsPerSecond, times: this.#times, isOurs: () => hasLease(host), changed });
    this.#binds = settings.bindMode === "pair" ? [this.#bind("transmitter"), this.#bind("receiver")] : [this.#bind("transceiver")];
  }

  get isReady(): boolean {
    return !this.#isClosed && this.#gate.isOpen;
  }

  /** The worst of it. */
  get state(): LinkState {
    const states = this.#binds.map((bind) => bind.state);
    const trouble = states.find(({ kind }) => kind === "paused") ?? states.find(({ kind }) => kind === "connecting");
    if (trouble !== undefined) return trouble;
    return this.#gate.isPaused ? { kind: "throttled", reason: "the carrier wants it slower" } : { kind: "connected", reason: null };
  }

  async send(message: Outgoing, signal: AbortSignal): Promise<SendOutcome> {
    if (this.#isClosed) return CLOSED;
    if (signal.aborted) return UNSENT;
    const parts = this.#partsOf(message);
    if (!Array.isArray(parts)) return parts;
    this.#sending += 1;
    try {
      return await submit({
        reference: message.id,
        parts,
        gate: this.#gate,
        responseMs: this.#times.responseMs,
        signal,
        named: (id) => this.#inbox.ids.remember(id),
        late: (receipts) => this.#inbox.pass(receipts),
      });
    } finally {
      this.#sending -= 1;
    }
  }

  /** What is at the carrier is waited for a moment; then the carrier is told that we leave. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#gate.close();
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
      deliver: (short) => this.#inbox.take(short),
      unheard: (short) => this.#inbox.unheard(short),
      use: (session: Session | undefined) => {
        if (isSending) this.#gate.use(session);
      },
      changed: () => this.#changed(),
    });
  }

  #changed(): void {
    if (!this.#isClosed) this.#host.changed();
  }

  /** The submit_sm it becomes, or why it cannot become any. */
  #partsOf(message: Outgoing): Short[] | Refused {
    const { sourceTon, sourceNpi, destinationTon, destinationNpi, serviceType, registeredDelivery } = this.#settings;
    const leftMs = message.expiresAtMs - this.#host.now();
    if (leftMs <= 0) return refused("ttl_expired", "The message was not handed to a carrier within its time to live.");
    const source = sourceOf(message.sender, { ton: sourceTon, npi: sourceNpi });
    if (source === undefined) return refused("invalid_sender", "The sender is none that a carrier could take");
    const destination = destinationOf(message.recipient, { ton: destinationTon, npi: destinationNpi });
    this.#reference = (this.#reference + 1) & 0xffff;
    const parts = encodeText(message.body, this.#settings, this.#reference);
    if (parts === undefined) return refused("message_too_long", "The text has more parts than can be tied together");
    if (parts.length > 1 && parts.length > (this.#settings.partsPerSecond ?? Infinity) * MAX_SENDING_SECONDS)
      return refused("message_too_long", "The text has more parts than the rate of the link lets through while a message is sent");
    const rest = { protocolId: 0, priority: 0, scheduledFor: "", validFor: validFor(leftMs), registeredDelivery };
    return parts.map((part) => ({ serviceType, source, destination, ...rest, ...part }));
  }
}

// The field has room for years; a carrier that keeps a message for a month keeps it for ever.
const MAX_VALIDITY_SECONDS = 30 * 86_400;

const two = (value: number): string => String(Math.floor(value)).padStart(2, "0");

/** validity_period: how long the carrier may try. Relative to now, since the carrier's clock need not be ours.
 *  `YYMMDDhhmmsstnnR`: years, months, days, hours, minutes, seconds, and nothing smaller. Rounded down, as nothing may be delivered
 *  after its time; yet not to nothing, which would mean the carrier's own default. */
function validFor(leftMs: number): string {
  const seconds = Math.min(MAX_VALIDITY_SECONDS, Math.max(1, Math.floor(leftMs / 1_000)));
  return `0000${two(seconds / 86_400)}${two((seconds / 3_600) % 24)}${two((seconds / 60) % 60)}${two(seconds % 60)}000R`;
}

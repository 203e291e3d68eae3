/** One message at one link: on record as written, handed over, and what was answered on record too. */
import { findRefusal } from "../consent/refusal.ts";
import { encodeId } from "../lib/id.ts";
import { errorFields, type Log } from "../lib/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import { unreachable } from "../lib/assert.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, type Change } from "../messages/change.ts";
import type { Content, TemplateUse } from "../messages/content.ts";
import type { Message } from "../messages/message.ts";
import { openContent } from "../messages/sealed.ts";
import type { QueueState } from "../messages/queue-entry.ts";
import type { Connection, Outgoing, OutgoingTemplate, SendOutcome } from "../providers/provider.ts";
import type { Link } from "../links/link.ts";
import type { LinkChooser } from "../links/choose-links.ts";
import { isDatabaseTrouble, type Database } from "../storage/database.ts";
import type { Attributes, Tracing } from "../tracing/tracing.ts";
import type { DeliveryWatch } from "./watch.ts";
import {
  afterHold,
  holdChange,
  lapsedSignal,
  settleChange,
  unreadableSignal,
  consentSignal,
  sendingSignal,
  type SettleContext,
} from "./settle.ts";
import type { Deadlines } from "./deadlines.ts";
import { nextLink, senderAfter } from "./next-link.ts";
import { readMessages } from "./queries.ts";
import type { Receipts } from "./receipts.ts";
import { setTimeout as sleep } from "node:timers/promises";

/** What the lane makes of it. */
export type Next =
  | { kind: "done" }
  | { kind: "accepted" }
  | { kind: "throttled" }
  | { kind: "later"; afterMs: number }
  | { kind: "orphan" };

export type AttemptsParts = {
  db: Database;
  advancer: Advancer;
  receipts: Receipts;
  deadlines: Deadlines;
  linkChooser: LinkChooser;
  watch: DeliveryWatch;
  box: SecretBox;
  receiptWaitMs: number;
  log: Log;
  tracing: Tracing | undefined;
  /** Aborted when the process ends, and answers that could not be stored are given up. */
  stopping: AbortSignal;
};

type Work = {
  message: Message;
  state: QueueState;
  /** What to hand over in place of what the message shows. */
  sealedContent: string | null;
  link: Link;
  connection: Connection;
  answered: (outcome: SendOutcome) => void;
};

const DONE: Next = { kind: "done" };
const STORE_AGAIN_MS = 500;
// Signals race for a message a few times at most; a loop beyond that is a mistake of ours.
const MAX_ROUNDS = 20;

export class Attempts {
  readonly #parts: AttemptsParts;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  /** Changes that wait to be stored, of all lanes. */
  get pending(): number {
    return this.#parts.advancer.pending;
  }

  async run(work: Work): Promise<Next> {
    const { message, state, link } = work;
    const nowMs = this.#parts.advancer.now();
    if (message.status === "queued") {
      if ((message.expiresAtMs ?? 0) <= nowMs) return this.#submit(changeBy(message, lapsedSignal, nowMs));
      return this.#tryOnce(work, nowMs);
    }
    if (message.status !== "sending") return { kind: "orphan" };
    // Not held yet: its node died, or lost its lease, after bytes may have left.
    return state === "held" ? this.#submit(changeBy(message, afterHold(link), nowMs)) : this.#hold(message, link);
  }

  async #submit(change: Change | undefined): Promise<Next> {
    return change !== undefined && (await this.#parts.advancer.submit(change)) ? laterOf(change) : DONE;
  }

  async #hold(message: Message, link: Link): Promise<Next> {
    const context = this.#context(link);
    const change = holdChange(message, "the process that handed it over ended before the answer came", context);
    this.#parts.watch.attempted(link.name, "unknown");
    if (await this.#parts.advancer.submit(change)) this.#parts.receipts.referenceStored(change);
    return DONE;
  }

  async #tryOnce(work: Work, nowMs: number): Promise<Next> {
    const { message, sealedContent, link } = work;
    const content = this.#contentOf(message, sealedContent);
    if (content === undefined) return this.#submit(changeBy(message, unreadableSignal, nowMs));
    const written = changeBy(message, sendingSignal(message, link), nowMs);
    if (written === undefined) return DONE;
    if (!(await this.#parts.advancer.submit(written))) return this.#leave(message);
    return this.#handOver(work, written, content);
  }

  async #handOver({ message, link, connection, answered }: Work, written: Change, content: Content): Promise<Next> {
    const { advancer, watch, tracing } = this.#parts;
    watch.handedOver(link.name, message, advancer.now());
    const span = tracing?.begin(`send ${link.name}`, "client", message.trace, attributesOf(written.after, link));
    const outcome = await this.#send(connection, toOutgoing(written.after, content), written.after, link);
    span?.end(outcomeOf(outcome), outcome.kind !== "accepted");
    answered(outcome);
    watch.attempted(link.name, outcome.kind);
    const settled = await this.#store(written.after, outcome, link);
    return nextOf(outcome, settled);
  }

  /** Nothing has left: it was canceled, or is another's, since it was claimed; or its recipient no longer wants it. */
  async #leave(message: Message): Promise<Next> {
    const { db, advancer } = this.#parts;
    const code = await findRefusal(db, { ...message, isFreeWhatsApp: message.channel === "whatsapp" && message.template === null });
    return code === undefined ? DONE : this.#submit(changeBy(message, consentSignal(code), advancer.now()));
  }

  /** Undefined where it was sealed by a key that is not known here any more. */
  #contentOf(message: Message, sealedContent: string | null): Content | undefined {
    if (sealedContent === null) return { body: message.body ?? "", template: message.template };
    try {
      return openContent(this.#parts.box, message.id, sealedContent);
    } catch {
      return undefined;
    }
  }

  async #send(connection: Connection, outgoing: Outgoing, message: Message, link: Link): Promise<SendOutcome> {
    return this.#parts.deadlines.within(
      async (signal) => connection.send(outgoing, signal),
      (late) => void this.#storeLate(message, late, link),
    );
  }

  /** An answer after the time for it: the message is held meanwhile, or has gone on. */
  async #storeLate(message: Message, outcome: SendOutcome, link: Link): Promise<void> {
    if (outcome.kind === "unknown") return;
    // What cannot be stored was not heard: the hold ends as if it had not come.
    await this.#store(message, outcome, link).catch((error: unknown) => {
      const facts = { link: link.name, message_id: encodeId("msg", message.id), ...errorFields(error) };
      this.#parts.log.error({ event: "delivery.late_response_lost", ...facts }, "a late response of a carrier could not be stored");
    });
  }

  /** The carrier's answer is known here and nowhere else: it is stored however long the database takes. */
  async #store(message: Message, outcome: SendOutcome, link: Link): Promise<Change> {
    let current = message;
    for (let round = 0; round < MAX_ROUNDS;) {
      try {
        const change = settleChange(current, outcome, this.#context(link), message.attempts);
        if (await this.#parts.advancer.submit(change)) {
          this.#parts.receipts.referenceStored(change);
          return change;
        }
        const [now] = await readMessages(this.#parts.db, [message]);
        if (now === undefined) return change;
        current = now;
        round += 1;
      } catch (error) {
        if (!isDatabaseTrouble(error) || this.#parts.stopping.aborted) throw error;
        await sleep(STORE_AGAIN_MS);
      }
    }
    throw new Error("an answer could not be stored: the message changes all the time");
  }

  #context(link: Link): SettleContext {
    const { advancer, receiptWaitMs, linkChooser } = this.#parts;
    const next: SettleContext["next"] = (message) => {
      const other = nextLink(linkChooser, message, link.name);
      return other && { link: other, sender: senderAfter(linkChooser, message, { from: link.name, to: other }) };
    };
    return { link, receiptWaitMs, nowMs: advancer.now(), next };
  }
}

const attributesOf = ({ id, attempts, channel }: Message, link: Link): Attributes => ({
  "godwit.message_id": encodeId("msg", id),
  "godwit.channel": channel,
  "godwit.link": link.name,
  "godwit.provider": link.provider,
  "godwit.attempt": attempts,
});

/** What a carrier says in words may quote the message. */
const outcomeOf = (outcome: SendOutcome): Attributes => ({
  "godwit.outcome": outcome.kind,
  ...(outcome.kind === "refused" ? { "godwit.error_code": outcome.code } : {}),
});

function nextOf(outcome: SendOutcome, change: Change): Next {
  switch (outcome.kind) {
    case "accepted":
      return { kind: "accepted" };
    case "throttled":
      if (outcome.scope === "link") return { kind: "throttled" };
      break;
    case "refused":
    case "unknown":
      break;
    default:
      return unreachable(outcome);
  }
  return laterOf(change);
}

/** It will be due in this lane again. */
const laterOf = ({ move }: Change): Next =>
  move.kind === "wait" && move.afterMs !== undefined ? { kind: "later", afterMs: move.afterMs } : DONE;

const toOutgoing = (message: Message, { body, template }: Content): Outgoing => ({
  id: encodeId("msg", message.id),
  attempt: message.attempts,
  channel: message.channel,
  recipient: message.recipient,
  sender: message.sender,
  body,
  template: template && toOutgoingTemplate(template),
  expiresAtMs: message.expiresAtMs ?? 0,
});

function toOutgoingTemplate({ name, language, category, variables, parts }: TemplateUse): OutgoingTemplate {
  const values = variables ?? {};
  const { header, body } = parts ?? { header: [], body: inOrder(Object.keys(values)) };
  // A variable may be called `constructor`.
  const valueOf = (variable: string): string => (Object.hasOwn(values, variable) ? (values[variable] ?? "") : "");
  const filled = (names: readonly string[]) => names.map((variable) => ({ name: variable, value: valueOf(variable) }));
  return { name, language, category: category ?? null, header: filled(header), body: filled(body) };
}

/** Of a message that does not know the parts of its template, from before that was kept: all of it is the body's, as it was then. */
const inOrder = (names: readonly string[]): string[] =>
  names.every((name) => /^\d+$/.test(name)) ? names.toSorted((a, b) => Number(a) - Number(b)) : [...names];

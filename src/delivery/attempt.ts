/** One attempt of a message at one link: stores the change to `sending`, submits the message to the carrier, and stores the outcome. */
import { setTimeout as sleep } from "node:timers/promises";
import { unreachable } from "../lib/assert.ts";
import { encodeId } from "../model/id.ts";
import { errorFields } from "../model/log.ts";
import type { SecretBox } from "../lib/secret-box.ts";
import type { Link } from "../links/link.ts";
import type { MediaLibrary } from "../media/library.ts";
import type { Advancer } from "../messages/advance.ts";
import { changeBy, type Change } from "../messages/change.ts";
import type { Content, Message, TemplateUse } from "../messages/message.ts";
import { readAcceptedParts } from "../messages/parts.ts";
import { mayBecome } from "../messages/states.ts";
import type { QueueState } from "../messages/queue-entry.ts";
import { openContent } from "../messages/sealed.ts";
import {
  RECIPIENT_OPTED_OUT,
  type AcceptedParts,
  type Connection,
  type Outgoing,
  type OutgoingTemplate,
  type SendOutcome,
} from "../providers/provider.ts";
import { isDatabaseTrouble } from "../database/database.ts";
import type { Attributes } from "../tracing/tracing.ts";
import { beginAgain, beginSending, DATABASE_RETRY_MS, findLost, type Begun, type Obstacle } from "./begin-sending.ts";
import type { CarrierConsent } from "./carrier-consent.ts";
import type { DeliveryContext } from "./context.ts";
import type { Deadlines } from "./deadlines.ts";
import { chosenAfter, nextLink } from "./next-link.ts";
import { readMessages } from "./queries.ts";
import { sentContent, withContent } from "./outgoing-content.ts";
import type { Receipts } from "./receipts.ts";
import {
  afterHold,
  holdChange,
  PROCESS_ENDED,
  ttlExpiredSignal,
  settleChange,
  mediaMissingSignal,
  unreadableSignal,
  consentSignal,
  type SettleContext,
} from "./settle.ts";

/** The result of an attempt, as far as the lane must act on it. */
export type AttemptResult =
  | { kind: "done" }
  | { kind: "accepted" }
  /** The message is in the queue again. `lane`: if it is not that of this link. */
  | { kind: "later"; dueAtMs: number; lane?: string }
  /** The link could not take the message now. Nothing has changed: the message belongs back into the queue. */
  | { kind: "not_begun"; outcome: SendOutcome }
  | { kind: "orphan" };

export type AttemptsParts = DeliveryContext & {
  advancer: Advancer;
  receipts: Receipts;
  consent: CarrierConsent;
  deadlines: Deadlines;
  box: SecretBox;
  media: MediaLibrary;
  /** Aborted when the process ends. Responses that could not be stored until then are given up. */
  stopping: AbortSignal;
};

type AttemptInput = {
  message: Message;
  state: QueueState;
  /** The content for the carrier, if the message shows something else. */
  sealedContent: string | null;
  link: Link;
  connection: Connection;
  responded: (outcome: SendOutcome) => void;
};

const DONE: AttemptResult = { kind: "done" };
// An opt-out commits within milliseconds after it has locked its recipient.
const OPT_OUT_UNDER_WAY: SendOutcome = { kind: "throttled", scope: "recipient", retryAfterMs: 100, providerCode: null };
// Nothing has left, though the message is stored as `sending`: it is due again at once.
const UNSENT: SendOutcome = { kind: "throttled", scope: "recipient", retryAfterMs: 1, providerCode: null };
// Signals compete for a message a few times at most. More rounds mean a fault in this code.
const MAX_ROUNDS = 20;

export class Attempts {
  readonly #parts: AttemptsParts;

  constructor(parts: AttemptsParts) {
    this.#parts = parts;
  }

  async run(input: AttemptInput): Promise<AttemptResult> {
    const { message, state, link } = input;
    const nowMs = this.#parts.advancer.now();
    if (message.status === "queued") {
      if ((message.expiresAtMs ?? 0) <= this.#parts.clock.dueNow()) return this.#advance(changeBy(message, ttlExpiredSignal, nowMs));
      return this.#begin(input, nowMs);
    }
    if (message.status !== "sending") return { kind: "orphan" };
    // A message that is not held yet: its node stopped, or lost its lease, after bytes may have left.
    return state === "held" ? this.#advance(changeBy(message, afterHold(link), nowMs)) : this.#hold(message, link);
  }

  async #advance(change: Change | undefined): Promise<AttemptResult> {
    return change !== undefined && (await this.#parts.advancer.submit(change)) ? whenDueAgain(change) : DONE;
  }

  async #hold(message: Message, link: Link): Promise<AttemptResult> {
    const context = this.#context(link);
    const change = holdChange(message, PROCESS_ENDED, context);
    this.#parts.watch.attempted(link.name, "unknown");
    await this.#parts.receipts.store(change);
    return DONE;
  }

  async #begin(input: AttemptInput, nowMs: number): Promise<AttemptResult> {
    const { message, sealedContent, link } = input;
    const content = this.#readContent(message, sealedContent);
    if (content === undefined) return this.#advance(changeBy(message, unreadableSignal, nowMs));
    if (!mayBecome(message, "sending")) return DONE;
    const acceptedParts = await this.#acceptedParts(message, link);
    const outgoing = toOutgoing(message, content, acceptedParts);
    const { structured = null } = content;
    if (structured === null && message.inReplyTo === null) return this.#submitMessage(input, outgoing);
    const whole = await withContent(this.#parts, outgoing, message, structured);
    return whole === undefined ? this.#advance(changeBy(message, mediaMissingSignal, nowMs)) : this.#submitMessage(input, whole);
  }

  /** The parts that the carrier of this link has accepted in an attempt whose outcome is unknown. */
  async #acceptedParts(message: Message, link: Link): Promise<AcceptedParts | undefined> {
    const isAgain = message.hasUnknown && message.channel === "sms" && message.provider?.link === link.name;
    return isAgain ? readAcceptedParts(this.#parts.db, message) : undefined;
  }

  /** Submits the message. The provider waits for its turn and then calls `begin`, which commits `sending`. */
  async #submitMessage({ message, link, connection, responded }: AttemptInput, outgoing: Outgoing): Promise<AttemptResult> {
    const { deadlines, watch, tracing } = this.#parts;
    let isOver = false;
    let hasLeft = false;
    let committing: Promise<Begun> | undefined;
    let begun: Begun | undefined;
    const begin = async (): Promise<Begun> => (begun ??= await (committing ??= this.#commitSending(message, link, () => isOver)));
    // After the end of the attempt nothing may leave: another attempt may be under way, and the commit may have outlasted the time limit.
    const mayLeave = async (): Promise<boolean> => {
      if (!isOver) begun = await beginAgain(this.#parts, await begin(), () => isOver);
      if (isOver || begun?.kind !== "sending") return false;
      return (hasLeft = true);
    };
    const span = tracing?.begin(`send ${link.name}`, "client", message.trace, spanAttributes(outgoing, link));
    const outcome = await deadlines.within(
      async (signal, renew) => connection.send(outgoing, signal, mayLeave, renew),
      (late) => void this.#storeLate(begun, late, link),
    );
    span?.end(outcomeAttributes(outcome), outcome.kind !== "accepted");
    responded(outcome);
    // A provider can refuse a message before its turn. The refusal counts as an attempt like any other.
    const isAttempt = outcome.kind === "refused" || outcome.kind === "accepted";
    isOver = !isAttempt;
    // The time limit may have passed during the commit.
    if (isAttempt || committing !== undefined) begun = await begin();
    if (begun === undefined) return { kind: "not_begun", outcome };
    if (begun.kind === "sending" && !hasLeft && !isAttempt) begun = { kind: "unsent", from: begun.message };
    if (begun.kind !== "sending") return this.#giveUp(message, begun, link);
    watch.attempted(link.name, outcome.kind);
    const change = await this.#store(begun.message, outcome, link);
    return outcome.kind === "accepted" ? { kind: "accepted" } : whenDueAgain(change);
  }

  async #commitSending(message: Message, link: Link, isOver: () => boolean): Promise<Begun> {
    const begun = await beginSending(this.#parts, message, link, isOver);
    if (begun.kind === "sending") this.#parts.watch.submitted(link.name, message, this.#parts.advancer.now());
    return begun;
  }

  /** Handles a message that must not be submitted. */
  async #giveUp(message: Message, obstacle: Obstacle, link: Link): Promise<AttemptResult> {
    const nowMs = this.#parts.advancer.now();
    switch (obstacle.kind) {
      case "expired":
        return this.#advance(changeBy(message, ttlExpiredSignal, nowMs));
      case "refused":
        return this.#advance(changeBy(obstacle.from, consentSignal(obstacle.code), nowMs));
      case "unsent":
        return this.#untilStored(() => this.#advance(settleChange(obstacle.from, UNSENT, this.#context(link))));
      case "lost":
        return this.#giveUp(message, await this.#untilStored(() => findLost(this.#parts, obstacle)), link);
      case "changed":
        return DONE;
      case "busy":
        return { kind: "not_begun", outcome: OPT_OUT_UNDER_WAY };
      case "failed":
        throw obstacle.error;
      default:
        return unreachable(obstacle);
    }
  }

  /** Undefined if the content was sealed with a secret key that this service no longer has. */
  #readContent(message: Message, sealedContent: string | null): Content | undefined {
    if (sealedContent === null) return { body: message.body ?? "", template: message.template, structured: sentContent(message) };
    try {
      return openContent(this.#parts.box, message.id, sealedContent);
    } catch {
      return undefined;
    }
  }

  /** Stores a response that arrived after its time limit. The message is held by then, or has a later status. */
  async #storeLate(begun: Begun | undefined, outcome: SendOutcome, link: Link): Promise<void> {
    if (begun?.kind !== "sending" || outcome.kind === "unknown" || outcome.kind === "withdrawn") return;
    const { message } = begun;
    // A response that cannot be stored is lost. The hold then ends as without a response.
    await this.#store(message, outcome, link).catch((error: unknown) => {
      const facts = { link: link.name, message_id: encodeId("msg", message.id), ...errorFields(error) };
      this.#parts.log.error({ event: "delivery.late_response_lost", ...facts }, "a late response of a carrier could not be stored");
    });
  }

  /** Stores the carrier's response. */
  async #store(message: Message, outcome: SendOutcome, link: Link): Promise<Change> {
    let current = message;
    const storeOnce = async (): Promise<Change | undefined> => {
      if (outcome.kind === "refused" && outcome.code === RECIPIENT_OPTED_OUT) await this.#parts.consent.refused(link.name, message);
      const change = settleChange(current, outcome, this.#context(link), message.attempts);
      if (await this.#parts.receipts.store(change)) return change;
      const [now] = await readMessages(this.#parts.db, [message]);
      if (now === undefined) return change;
      current = now;
      return undefined;
    };
    for (let round = 0; round < MAX_ROUNDS; round += 1) {
      const change = await this.#untilStored(storeOnce);
      if (change !== undefined) return change;
    }
    throw new Error("a response could not be stored: the message changes all the time");
  }

  /** Repeats the work for as long as the database needs, since only this process knows what became of the message. */
  async #untilStored<T>(work: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        return await work();
      } catch (error) {
        if (!isDatabaseTrouble(error) || this.#parts.stopping.aborted) throw error;
        await sleep(DATABASE_RETRY_MS);
      }
    }
  }

  #context(link: Link): SettleContext {
    const { advancer, receiptWaitMs, linkDirectory } = this.#parts;
    const next: SettleContext["next"] = (message) => {
      const other = nextLink(linkDirectory, message, link.name);
      return other && { link: other, chosen: chosenAfter(linkDirectory, message, other) };
    };
    return { link, receiptWaitMs, nowMs: advancer.now(), next };
  }
}

/** The next attempt of a message, in the form in which a provider gets it. */
const toOutgoing = (message: Message, { body, template }: Content, acceptedParts: AcceptedParts | undefined): Outgoing => ({
  id: encodeId("msg", message.id),
  attempt: message.attempts + 1,
  channel: message.channel,
  recipient: message.recipient,
  sender: message.sender,
  body,
  template: template && toOutgoingTemplate(template),
  expiresAtMs: message.expiresAtMs ?? 0,
  priority: message.priority,
  carrierOptions: message.carrierOptions,
  acceptedParts,
});

function toOutgoingTemplate({ name, language, category, variables, parts }: TemplateUse): OutgoingTemplate {
  const values = variables ?? {};
  const { header, body } = parts ?? { header: [], body: inOrder(Object.keys(values)) };
  // A variable may have the name `constructor`.
  const valueOf = (variable: string): string => (Object.hasOwn(values, variable) ? (values[variable] ?? "") : "");
  const filled = (names: readonly string[]) => names.map((variable) => ({ name: variable, value: valueOf(variable) }));
  return { name, language, category: category ?? null, header: filled(header), body: filled(body) };
}

/** The variables in the order in which the carrier expects them, for a message from before template parts were stored. All of them belong
 *  to the body then. */
const inOrder = (names: readonly string[]): string[] =>
  names.every((name) => /^\d+$/.test(name)) ? names.toSorted((a, b) => Number(a) - Number(b)) : [...names];

const spanAttributes = ({ id, attempt, channel }: Outgoing, link: Link): Attributes => ({
  "godwit.message_id": id,
  "godwit.channel": channel,
  "godwit.link": link.name,
  "godwit.provider": link.provider,
  "godwit.attempt": attempt,
});

/** Leaves out the text of a carrier's response, which may quote the message. */
const outcomeAttributes = (outcome: SendOutcome): Attributes => ({
  "godwit.outcome": outcome.kind,
  ...(outcome.kind === "refused" ? { "godwit.error_code": outcome.code } : {}),
});

/** Whether the message is due in this lane again, and when. */
const whenDueAgain = ({ move }: Change): AttemptResult =>
  move.kind === "wait" && move.state === "waiting" && move.atMs !== undefined
    ? { kind: "later", dueAtMs: move.atMs, ...(move.lane === undefined ? {} : { lane: move.lane }) }
    : DONE;

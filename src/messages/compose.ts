/** Composes the message of a request: its content, its link and the steps of its fallback. Checks the business rules that need no database
 *  row. */
import type { ConsentRefusal } from "../consent/refusal.ts";
import { Problem } from "../http/problem.ts";
import { encodeId, newId, type BatchId, type RequestId } from "../model/id.ts";
import { segmentsOf } from "../model/segments.ts";
import type { Trace } from "../lib/trace.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { findOptionFaults } from "../links/link-settings.ts";
import type { Channel } from "../links/channel.ts";
import { chooseLinks, chooseToWait, explainNoRoute, type LinkReason, type RouteQuery } from "../links/choose-links.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { candidatesOn, pickFrom, type SenderChoice } from "../links/choose-sender.ts";
import type { Link } from "../links/link.ts";
import { linkWeights, type LinkWeight } from "../links/strategy.ts";
import type { DueClock } from "../database/database-clock.ts";
import type { Owner } from "../model/owner.ts";
import { fillTemplate, usableFor } from "../templates/fill-template.ts";
import type { Templates } from "../templates/find-template.ts";
import { variablesByPart } from "../templates/placeholders.ts";
import type { Template } from "../templates/template.ts";
import type { FallbackStep } from "./fallbacks.ts";
import type { LastSenders } from "./last-senders.ts";
import { DEFAULT_TTL_SECONDS, MAX_RECORD_BYTES, messageRecord, newMessage, type Content, type Message } from "./message.ts";
import { tooManySegments, type NewMessage } from "./new-message.ts";

/** `secret` is the content for the carrier, if the message shows something else. `weights`: the numbers by which a route with a strategy chose
 *  the link. */
export type Composed = {
  message: Message;
  link: Link;
  steps: readonly FallbackStep[];
  secret: Content | null;
  weights?: readonly LinkWeight[] | undefined;
};

/** The request, the batch and the trace of a message. `conceal` returns the content that the record shows, if the content is a secret. A trial is never
 *  sent, and has no effect on the senders of other messages. */
export type Origin = {
  requestId?: RequestId | undefined;
  batchId?: BatchId;
  conceal?: (content: Content) => Content;
  trace?: Trace | undefined;
  isTrial?: true;
};

/** The result of checking a request: all problems, and the parts of the message that could be determined. */
export type CheckedRequest = {
  content: Content | undefined;
  steps: readonly Omit<FallbackStep, "shown">[];
  route: ChosenLink | undefined;
  problems: Problem[];
};

export type ChosenLink = { link: Link; linkReason: LinkReason; weights?: readonly LinkWeight[] };

export type ComposerParts = { clock: DueClock; linkDirectory: LinkDirectory; templates: Templates; lastSenders: LastSenders };

/** Templates by the id or name in the request. For an unknown one, a text that says so. */
type TemplatesByName = ReadonlyMap<string, Template | string>;

type ComposeParts = ChosenLink &
  SenderChoice & { request: NewMessage; owner: Owner; origin: Origin; content: Content; steps: CheckedRequest["steps"] };

export class Composer {
  readonly #parts: ComposerParts;

  constructor(parts: ComposerParts) {
    this.#parts = parts;
  }

  get linkDirectory(): LinkDirectory {
    return this.#parts.linkDirectory;
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** Returns the message, or the first problem. */
  async compose(request: NewMessage, owner: Owner, origin: Origin = {}): Promise<Composed | Problem> {
    const { content, steps, route, problems } = this.#checkWith(request, owner, await this.#findTemplates(request, owner));
    const [problem] = problems;
    // A fault of the request is not stored with its idempotency key.
    if (problem?.code === "invalid_request_payload") throw problem;
    if (problem !== undefined) return problem;
    if (content === undefined || route === undefined) throw new Error("a request without a fault has content and a link");
    const choice = await this.#senderFor(request, owner, route.link);
    return this.#composeFrom({ request, owner, origin, content, steps, ...route, ...choice });
  }

  /** Checks a request, and returns the sender that its message would have. */
  async check(request: NewMessage, owner: Owner): Promise<CheckedRequest & SenderChoice> {
    const checked = this.#checkWith(request, owner, await this.#findTemplates(request, owner));
    return { ...checked, ...(await this.#senderFor(request, owner, checked.route?.link)) };
  }

  async #senderFor({ sender, recipient }: NewMessage, owner: Owner, link: Link | undefined): Promise<SenderChoice> {
    const { linkDirectory, lastSenders } = this.#parts;
    if (typeof sender === "string") return { sender, senderReason: "named" };
    if (link === undefined) return { sender: null, senderReason: null };
    const { accountId, environment } = owner;
    const query = { accountId, environment, recipient };
    const candidates = candidatesOn(linkDirectory.current, link, query);
    const last = candidates === undefined || candidates.pool.length < 2 ? null : await lastSenders.find(query, candidates.pool);
    return pickFrom(candidates, link, { recipient, last }, linkDirectory.waitOf);
  }

  async #findTemplates(request: NewMessage, owner: Owner): Promise<TemplatesByName> {
    const names = templateNames(request);
    if (names.length === 0) return new Map();
    const { templates } = this.#parts;
    const find = async (name: string) => (await templates.find(owner, name)) ?? templates.explainUnknown(owner, name);
    return new Map(await Promise.all(names.map(async (name) => [name, await find(name)] as const)));
  }

  #composeFrom({ request, owner, origin, content, steps, link, linkReason, weights, sender, senderReason }: ComposeParts): Composed {
    const { requestId, conceal, batchId = null, trace = null } = origin;
    const shown = conceal?.(content) ?? null;
    const nowMs = this.#parts.clock.now();
    const id = newId("msg", nowMs, requestId);
    const hasFallback = steps.length > 0;
    const chosen = { link, linkReason, sender, senderReason };
    const dueMs = this.#parts.clock.dueNow();
    const message = fromRequest({ request, owner, id, nowMs, dueMs, content, shown, ...chosen, batchId, hasFallback, trace });
    const kept = steps.map((step) => ({ ...step, shown: conceal?.(step.content) ?? null }));
    assertStepsFit(message, kept);
    if (origin.isTrial !== true) this.#note(message, link);
    return { message, link, steps: kept, secret: shown && content, weights };
  }

  /** Takes note of the sender that a message got, for the choice of later ones. */
  #note(message: Message, link: Link): void {
    const { sender, senderReason } = message;
    if (sender === null) return;
    this.#parts.linkDirectory.assigned(link.name, sender);
    if (senderReason === "pool" || senderReason === "sticky" || senderReason === "preferred") this.#parts.lastSenders.note(message, sender);
  }

  linkFor(query: RouteQuery, { mayWait = false } = {}): ChosenLink | Problem {
    const { linkDirectory } = this.#parts;
    const choice = mayWait ? chooseToWait(linkDirectory.current, query) : chooseLinks(linkDirectory.current, query);
    if (choice.kind === "chosen") {
      const chosen = { link: choice.links[0], linkReason: choice.reason };
      return choice.weighed === undefined ? chosen : { ...chosen, weights: linkWeights(choice.weighed) };
    }
    return choice.kind === "no_route"
      ? new Problem("no_route", { detail: explainNoRoute(linkDirectory.current, query) })
      : new Problem(choice.kind);
  }

  #checkWith(request: NewMessage, owner: Owner, templates: TemplatesByName): CheckedRequest {
    const problems: Problem[] = [];
    const orProblem = <T>(found: T | Problem): T | undefined => {
      if (!(found instanceof Problem)) return found;
      problems.push(found);
      return undefined;
    };
    const content = orProblem(makeContent(request, templateFor(request, templates)));
    const steps = (request.fallback ?? []).flatMap((step, index) => {
      const pointer = `/fallback/${index}`;
      const stepContent = orProblem(makeContent(step, templateFor(step, templates), pointer));
      if (stepContent === undefined) return [];
      const segmentLimit = { channel: step.channel, max_segments: request.max_segments ?? null };
      const findLink = (): Link | Problem => linkOf(this.linkFor({ ...owner, ...request, channel: step.channel, sender: null }));
      const tooMany = segmentProblem(segmentLimit, stepContent, findLink, pointer);
      if (tooMany !== undefined) problems.push(tooMany);
      return [{ channel: step.channel, content: stepContent, afterSeconds: step.after_seconds }];
    });
    const found = this.linkFor({ ...owner, ...request, sender: request.sender ?? null });
    const tooMany = content && segmentProblem(request, content, () => linkOf(found));
    if (tooMany !== undefined) problems.push(tooMany);
    const route = orProblem(found);
    const refused = route && content && carrierProblem(request, content, route.link);
    if (refused !== undefined) problems.push(refused);
    const unfit = route && request.carrier_options && findOptionFaults(route.link, request.carrier_options);
    if (unfit && unfit.length > 0) problems.push(new Problem("invalid_request_payload", { errors: unfit }));
    return { content, steps, route, problems };
  }
}

const linkOf = (route: ChosenLink | Problem): Link | Problem => (route instanceof Problem ? route : route.link);

const templateFor = ({ template_id: name }: { template_id?: string | null }, templates: TemplatesByName): Template | string =>
  (typeof name === "string" ? templates.get(name) : undefined) ?? "";

function templateNames(request: NewMessage): string[] {
  const own = typeof request.template_id === "string" ? [request.template_id] : [];
  if (!request.fallback) return own;
  return [...own, ...request.fallback.flatMap(({ template_id: name }) => (typeof name === "string" ? [name] : []))];
}

/** The fields of a request, or of a fallback step, that define the content. */
type ContentFields = {
  channel: Channel;
  body?: string | null;
  template_id?: string | null;
  template_variables?: Record<string, string> | null;
};

/** Returns the content that the fields define. `pointer` is the position of the fields in the request. */
function makeContent(fields: ContentFields, template: Template | string, pointer = ""): Content | Problem {
  if (typeof fields.body === "string") return { body: fields.body, template: null };
  const fault = (code: string, detail: string) => ({ errors: [{ pointer: `${pointer}/template_id`, code, detail }] });
  if (typeof template === "string") return new Problem("template_not_found", fault("template_not_found", template));
  const unusable = usableFor(template, fields.channel);
  if (unusable !== undefined) return new Problem(unusable.code, fault(unusable.code, unusable.detail));
  const variables = fields.template_variables ?? {};
  const filled = fillTemplate(template, variables, fields.channel, pointer);
  if (filled instanceof Problem) return filled;
  const { id, name, language, version, category } = template;
  const use = { id: encodeId("tmpl", id), name, language, version, variables, category, parts: variablesByPart(template) };
  return { body: filled.text, template: use };
}

type SegmentLimit = Pick<NewMessage, "channel" | "max_segments">;

/** `pointer` is the position of the step in the request; for the message itself it names the limit. Without a link, segments are counted as
 *  on most links. */
export function segmentProblem(
  { channel, max_segments: most }: SegmentLimit,
  { body }: Content,
  findLink: () => Link | Problem,
  pointer = "/max_segments",
): Problem | undefined {
  if (channel !== "sms" || typeof most !== "number") return undefined;
  const link = findLink();
  const { count } = segmentsOf(body, link instanceof Problem ? undefined : link.segmentRules);
  return count > most ? tooManySegments(count, most, pointer) : undefined;
}

/** Checks the size of each step's record, which has the properties of the message and its own text. A step with too large a record
 *  could never be sent. */
function assertStepsFit(message: Message, steps: readonly FallbackStep[]): void {
  const errors = steps.flatMap(({ channel, content, shown }, index) => {
    const { body, template } = shown ?? content;
    const segments = channel === "sms" ? segmentsOf(content.body) : null;
    const record = messageRecord({ ...message, channel, body, template, segments, fallbackOf: message.id });
    if (Buffer.byteLength(JSON.stringify(record)) <= MAX_RECORD_BYTES) return [];
    const detail = `the message that this step makes must not exceed ${MAX_RECORD_BYTES} bytes; shorten metadata or its body`;
    return [{ pointer: `/fallback/${index}`, code: "too_large", detail }];
  });
  if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
}

/** Returns the problem that the carrier of the link is known to have with the recipient. The accept
 *  statement checks our own consent rows. */
export function carrierProblem({ recipient, channel }: NewMessage, { template }: Content, { unwilling }: Link): Problem | undefined {
  if (unwilling.optedOut.has(recipient)) return consentProblem("recipient_opted_out");
  return channel === "whatsapp" && template === null && unwilling.windowClosed.has(recipient)
    ? consentProblem("service_window_closed")
    : undefined;
}

const CONSENT_DETAILS: Readonly<Record<ConsentRefusal, string>> = {
  recipient_opted_out: "has opted out of messages from this sender",
  service_window_closed: "has not written within 24 hours: only a template may be sent",
};

export const consentProblem = (code: ConsentRefusal): Problem =>
  new Problem(code, { errors: [{ pointer: "/recipient", code, detail: CONSENT_DETAILS[code] }] });

/** The time from which the message may be submitted. */
export const startTimeMs = ({ id, sendAtMs }: Message): number => Math.max(sendAtMs ?? 0, uuidTimeMs(id));

type RequestParts = Pick<Message, "id"> &
  Partial<Pick<Message, "batchId" | "fallbackOf" | "hasFallback" | "trace">> & {
    request: NewMessage;
    owner: Owner;
    /** The present time. The time of the id can be ahead of it. */
    nowMs: number;
    /** A later `send_at` has not come. Absent for a message without `send_at`. */
    dueMs?: number;
    content: Content;
    /** The content that the record shows, if the content is a secret. */
    shown: Content | null;
    link: Link;
    linkReason: LinkReason;
  } & SenderChoice;

/** Makes the message of a request. */
export function fromRequest(parts: RequestParts): Message {
  const { request, owner, id, nowMs, dueMs = nowMs, content, shown, link, linkReason, sender, senderReason } = parts;
  const { batchId = null, fallbackOf = null, hasFallback = false, trace = null } = parts;
  const { body, template } = shown ?? content;
  const sendAtMs = typeof request.send_at === "string" ? Date.parse(request.send_at) : null;
  const isScheduled = sendAtMs !== null && sendAtMs > dueMs;
  return newMessage(owner, id, {
    direction: "outbound",
    channel: request.channel,
    recipient: request.recipient,
    sender,
    senderReason,
    linkReason,
    body,
    template,
    status: isScheduled ? "scheduled" : "queued",
    segments: request.channel === "sms" ? segmentsOf(content.body, link.segmentRules) : null,
    priority: request.priority ?? "normal",
    clientReference: request.client_reference ?? null,
    metadata: request.metadata ?? {},
    maxSegments: request.max_segments ?? null,
    carrierOptions: request.carrier_options ?? null,
    sendAtMs,
    expiresAtMs: (isScheduled ? sendAtMs : nowMs) + (request.ttl_seconds ?? DEFAULT_TTL_SECONDS) * 1_000,
    hasFallback,
    fallbackOf,
    batchId,
    trace,
  });
}

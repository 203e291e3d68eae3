/** Composes the message of a request: its content, its link and the steps of its fallback. Checks the business rules that need no database
 *  row. */
import type { ConsentRefusal } from "../consent/refusal.ts";
import { Problem } from "../http/problem.ts";
import { newId, type BatchId } from "../lib/id.ts";
import { segmentsOf } from "../lib/segments.ts";
import type { Trace } from "../lib/trace.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import type { LinkChooser, RouteQuery } from "../links/choose-links.ts";
import type { Link } from "../links/link.ts";
import type { Clock } from "../storage/database-clock.ts";
import type { Owner } from "../storage/owner.ts";
import type { Templates } from "../templates/find-template.ts";
import type { Template } from "../templates/template.ts";
import { makeContent, type Content } from "./content.ts";
import type { FallbackStep } from "./fallbacks.ts";
import { DEFAULT_TTL_SECONDS, MAX_RECORD_BYTES, messageRecord, newMessage, type Message } from "./message.ts";
import { tooManySegments, type NewMessage } from "./new-message.ts";

/** `secret` is the content for the carrier, where the message shows something else. */
export type Composed = { message: Message; link: Link; steps: readonly FallbackStep[]; secret: Content | null };

/** The batch and the trace of a message. `conceal` returns the content that the record shows, where the content is a secret. */
export type Origin = { batchId?: BatchId; conceal?: (content: Content) => Content; trace?: Trace | undefined };

/** The result of checking a request: all problems, and the parts of the message that could be determined. */
export type CheckedRequest = {
  content: Content | undefined;
  steps: readonly Omit<FallbackStep, "shown">[];
  link: Link | undefined;
  /** The sender that the message would have. */
  sender: string | null;
  problems: Problem[];
};

export type ComposerParts = { clock: Clock; linkChooser: LinkChooser; templates: Templates };

/** Templates by the id or name in the request. */
type TemplatesByName = ReadonlyMap<string, Template | undefined>;

const NONE: TemplatesByName = new Map();

export class Composer {
  readonly #parts: ComposerParts;

  constructor(parts: ComposerParts) {
    this.#parts = parts;
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** Returns the message, or the first problem. Returns no promise where all templates are in memory, as for most requests. */
  compose(request: NewMessage, owner: Owner, origin: Origin = {}): Composed | Problem | Promise<Composed | Problem> {
    const templates = this.#findTemplates(request, owner);
    if (!(templates instanceof Promise)) return this.#composeWith(request, owner, origin, templates);
    return templates.then((found) => this.#composeWith(request, owner, origin, found));
  }

  async check(request: NewMessage, owner: Owner): Promise<CheckedRequest> {
    return this.#checkWith(request, owner, await this.#findTemplates(request, owner));
  }

  #findTemplates(request: NewMessage, owner: Owner): TemplatesByName | Promise<TemplatesByName> {
    const names = templateNames(request);
    if (names.length === 0) return NONE;
    const found = names.map((name) => this.#parts.templates.find(owner, name));
    const byName = (templates: readonly (Template | undefined)[]): TemplatesByName =>
      new Map(names.map((name, index) => [name, templates[index]]));
    const isInMemory = (each: (typeof found)[number]): each is Template | undefined => !(each instanceof Promise);
    return found.every(isInMemory) ? byName(found) : Promise.all(found.map(async (each) => each)).then(byName);
  }

  #composeWith(request: NewMessage, owner: Owner, origin: Origin, templates: TemplatesByName): Composed | Problem {
    const { content, steps, link, sender, problems } = this.#checkWith(request, owner, templates);
    const [problem] = problems;
    if (problem !== undefined) return problem;
    if (content === undefined || link === undefined) throw new Error("a request without a fault has content and a link");
    const { conceal, batchId = null, trace = null } = origin;
    const shown = conceal?.(content) ?? null;
    const nowMs = this.#parts.clock.now();
    const id = newId("msg", nowMs);
    const hasFallback = steps.length > 0;
    const message = fromRequest({ request, owner, id, nowMs, content, shown, link, sender, batchId, fallbackOf: null, hasFallback, trace });
    const kept = steps.map((step) => ({ ...step, shown: conceal?.(step.content) ?? null }));
    assertStepsFit(message, kept);
    return { message, link, steps: kept, secret: shown && content };
  }

  /** Returns the message of the next step of a fallback, or the problem that prevents it. */
  composeStep(before: Message, step: FallbackStep, rest: readonly FallbackStep[]): Composed | Problem {
    const { content, shown, channel } = step;
    const { recipient, priority, metadata, clientReference, maxSegments } = before;
    const link = this.#linkFor({ ...before, channel, sender: null });
    if (link instanceof Problem) return link;
    const request: NewMessage = {
      recipient,
      channel,
      priority,
      metadata,
      client_reference: clientReference,
      max_segments: maxSegments,
      // A sender of one link may not be allowed on another.
      sender: (before.provider?.link ?? link.name) === link.name ? before.sender : this.#parts.linkChooser.senderOn(link, before),
      ttl_seconds: Math.round(((before.expiresAtMs ?? 0) - startTimeMs(before)) / 1_000),
    };
    const problem = segmentProblem(request, content, () => link) ?? carrierProblem(request, content, link);
    if (problem !== undefined) return problem;
    const nowMs = this.#parts.clock.now();
    const message = fromRequest({
      request,
      owner: before,
      id: newId("msg", nowMs),
      nowMs,
      content,
      shown,
      link,
      sender: null,
      batchId: null,
      fallbackOf: before.id,
      hasFallback: rest.length > 0,
      trace: before.trace,
    });
    return {
      // A secret is valid for a fixed time, which the fallback does not extend.
      message: shown === null ? message : { ...message, expiresAtMs: before.expiresAtMs },
      link,
      steps: rest,
      secret: shown && content,
    };
  }

  #linkFor(query: RouteQuery): Link | Problem {
    const choice = this.#parts.linkChooser.choose(query);
    return choice.kind === "chosen" ? choice.links[0] : new Problem(choice.kind);
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
      const findLink = (): Link | Problem => this.#linkFor({ ...owner, ...request, channel: step.channel, sender: null });
      const tooMany = segmentProblem(segmentLimit, stepContent, findLink, pointer);
      if (tooMany !== undefined) problems.push(tooMany);
      return [{ channel: step.channel, content: stepContent, afterSeconds: step.after_seconds }];
    });
    const found = this.#linkFor({ ...owner, ...request, sender: request.sender ?? null });
    const tooMany = content && segmentProblem(request, content, () => found);
    if (tooMany !== undefined) problems.push(tooMany);
    const link = orProblem(found);
    const refused = link && content && carrierProblem(request, content, link);
    if (refused !== undefined) problems.push(refused);
    const sender = request.sender ?? (link === undefined ? null : this.#parts.linkChooser.senderOn(link, owner));
    return { content, steps, link, sender, problems };
  }
}

const templateFor = ({ template_id: name }: { template_id?: string | null }, templates: TemplatesByName): Template | undefined =>
  typeof name === "string" ? templates.get(name) : undefined;

function templateNames(request: NewMessage): string[] {
  const own = typeof request.template_id === "string" ? [request.template_id] : [];
  if (!request.fallback) return own;
  return [...own, ...request.fallback.flatMap(({ template_id: name }) => (typeof name === "string" ? [name] : []))];
}

type SegmentLimit = Pick<NewMessage, "channel" | "max_segments">;

/** `pointer` is the position of the step in the request; for the message itself it names the limit. Without a link, segments are counted as
 *  on most links. */
function segmentProblem(
  { channel, max_segments: most }: SegmentLimit,
  { body }: Content,
  findLink: () => Link | Problem,
  pointer = "/max_segments",
): Problem | undefined {
  if (channel !== "sms" || typeof most !== "number") return undefined;
  const link = findLink();
  const { count } = segmentsOf(body, link instanceof Problem ? undefined : link.partHeaderBytes);
  return count > most ? tooManySegments(count, most, pointer) : undefined;
}

/** Checks the size of the record of each step, which has the properties of the message and its own text. A step with too large a record
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
function carrierProblem({ recipient, channel }: NewMessage, { template }: Content, { unwilling }: Link): Problem | undefined {
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

type RequestParts = Pick<Message, "id" | "batchId" | "fallbackOf" | "hasFallback" | "trace"> & {
  request: NewMessage;
  owner: Owner;
  /** The present time. The time of the id can be ahead of it. */
  nowMs: number;
  content: Content;
  /** The content that the record shows, where the content is a secret. */
  shown: Content | null;
  link: Link;
  /** The sender where the request has none. */
  sender: string | null;
};

/** Makes the message of a request. */
export function fromRequest(parts: RequestParts): Message {
  const { request, owner, id, nowMs, content, shown, link, batchId, fallbackOf, hasFallback, trace } = parts;
  const { body, template } = shown ?? content;
  const sendAtMs = typeof request.send_at === "string" ? Date.parse(request.send_at) : null;
  const isScheduled = sendAtMs !== null && sendAtMs > nowMs;
  return newMessage(owner, id, {
    direction: "outbound",
    channel: request.channel,
    recipient: request.recipient,
    sender: request.sender ?? parts.sender,
    body,
    template,
    status: isScheduled ? "scheduled" : "queued",
    segments: request.channel === "sms" ? segmentsOf(content.body, link.partHeaderBytes) : null,
    priority: request.priority ?? "normal",
    clientReference: request.client_reference ?? null,
    metadata: request.metadata ?? {},
    maxSegments: request.max_segments ?? null,
    sendAtMs,
    expiresAtMs: (isScheduled ? sendAtMs : nowMs) + (request.ttl_seconds ?? DEFAULT_TTL_SECONDS) * 1_000,
    hasFallback,
    fallbackOf,
    batchId,
    trace,
  });
}

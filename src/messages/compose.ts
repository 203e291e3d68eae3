/** Composes the message of a request: its content, its link and the steps of its fallback. Checks the business rules that need no database
 *  row. */
import { areEarlierReleasesGone } from "../database/stored-record.ts";
import { Problem, unavailable } from "../http/problem.ts";
import { newId, type BatchId, type RequestId } from "../model/id.ts";
import { segmentsOf } from "../model/segments.ts";
import type { Trace } from "../lib/trace.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { findOptionFaults } from "../links/link-settings.ts";
import { chooseLinks, chooseToWait, explainNoRoute, explainSender, type LinkReason, type RouteQuery } from "../links/choose-links.ts";
import type { LinkDirectory } from "../links/directory.ts";
import { candidatesOn, pickFrom, type SenderChoice } from "../links/choose-sender.ts";
import type { Link } from "../links/link.ts";
import { linkWeights, type LinkWeight } from "../links/strategy.ts";
import type { DueClock } from "../database/database-clock.ts";
import type { Owner } from "../model/owner.ts";
import type { Database } from "../database/database.ts";
import type { MediaLibrary } from "../media/library.ts";
import type { Templates } from "../templates/find-template.ts";
import { latestSendMs, type FallbackStep } from "./fallbacks.ts";
import { findFiles, findQuoted, hasUnfetched, keepFiles, NO_FILES, refusedUrls } from "./find-content.ts";
import type { LastSenders } from "./last-senders.ts";
import {
  DEFAULT_TTL_SECONDS,
  MAX_RECORD_BYTES,
  messageRecord,
  newMessage,
  type Content,
  type Message,
  type MessageSource,
} from "./message.ts";
import {
  fileFaults,
  hasContent,
  makeContent,
  needOfRequest,
  notCarried,
  namedTemplates,
  type Found,
  type TemplatesByName,
} from "./make-content.ts";
import type { NewMessage } from "./new-message.ts";
import { carrierProblem, segmentProblem } from "./refusals.ts";

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
  /** The API of another product that the request came through. */
  source?: MessageSource | null;
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

export type ComposerParts = {
  db: Database;
  clock: DueClock;
  linkDirectory: LinkDirectory;
  templates: Templates;
  lastSenders: LastSenders;
  media: MediaLibrary;
};

type ComposeParts = ChosenLink &
  SenderChoice & {
    request: NewMessage;
    owner: Owner;
    origin: Origin;
    content: Content;
    steps: CheckedRequest["steps"];
    quoted: Message | undefined;
  };

// An upgrade of all nodes takes minutes.
const UPGRADE_SECONDS = 30;

export class Composer {
  readonly #parts: ComposerParts;

  constructor(parts: ComposerParts) {
    this.#parts = parts;
  }

  get linkDirectory(): LinkDirectory {
    return this.#parts.linkDirectory;
  }

  get media(): MediaLibrary {
    return this.#parts.media;
  }

  now(): number {
    return this.#parts.clock.now();
  }

  /** Returns the message, or the first problem. */
  async compose(request: NewMessage, owner: Owner, origin: Origin = {}): Promise<Composed | Problem> {
    const found = await this.#find(request, owner);
    const checked = this.#checkWith(request, owner, found);
    // Files behind URLs are fetched for a request without other faults.
    const mustFetch = origin.isTrial !== true && checked.problems.length === 0 && hasUnfetched(found.files);
    const { content, steps, route, problems, files } = mustFetch
      ? await this.#checkFetched(request, owner, found)
      : { ...checked, files: found.files };
    const [problem] = problems;
    // A fault of the request is not stored with its idempotency key.
    if (problem?.code === "invalid_request_payload") throw problem;
    if (problem !== undefined) return problem;
    const lost = origin.isTrial === true ? undefined : await keepFiles(this.#parts.media, owner, files, this.#lastMs(request));
    if (lost !== undefined) throw new Problem("invalid_request_payload", { errors: [lost] });
    if (content === undefined || route === undefined) throw new Error("a request without a fault has content and a link");
    const choice = await this.#senderFor(request, owner, route.link, found.quoted);
    return this.#composeFrom({ request, owner, origin, content, steps, quoted: messageIn(found), ...route, ...choice });
  }

  /** Checks a request, and returns the sender that its message would have. */
  async check(request: NewMessage, owner: Owner): Promise<CheckedRequest & SenderChoice> {
    const found = await this.#find(request, owner);
    const checked = this.#checkWith(request, owner, found);
    const errors = refusedUrls(this.#parts.media, request);
    if (errors.length > 0) checked.problems.push(new Problem("invalid_request_payload", { errors }));
    return { ...checked, ...(await this.#senderFor(request, owner, checked.route?.link, found.quoted)) };
  }

  /** Finds the records that a request names. Files behind URLs are not fetched. */
  async #find(request: NewMessage, owner: Owner): Promise<Found> {
    const templates = await this.#findTemplates(request, owner);
    if (!hasContent(request)) return { templates, files: NO_FILES, quoted: undefined };
    // A node of an earlier release would send the text without the content.
    if (!areEarlierReleasesGone())
      throw unavailable("nodes of an earlier release are running, which cannot send contents", UPGRADE_SECONDS);
    const files = await findFiles(this.#parts.media, owner, { request, mayFetch: false });
    return { templates, files, quoted: await findQuoted(this.#parts.db, owner, request) };
  }

  async #checkFetched(request: NewMessage, owner: Owner, found: Found): Promise<CheckedRequest & Pick<Found, "files">> {
    const files = await findFiles(this.#parts.media, owner, { request, mayFetch: true });
    return { ...this.#checkWith(request, owner, { ...found, files }), files };
  }

  /** The last time at which the message, or a step of its fallback, can be sent. */
  #lastMs({ send_at: sendAt, ttl_seconds: ttl, fallback }: NewMessage): number {
    const nowMs = this.#parts.clock.now();
    const startMs = typeof sendAt === "string" ? Math.max(Date.parse(sendAt), nowMs) : nowMs;
    const afterSeconds = (fallback ?? []).map(({ after_seconds: seconds }) => seconds);
    return latestSendMs(startMs, (ttl ?? DEFAULT_TTL_SECONDS) * 1_000, afterSeconds);
  }

  async #senderFor(
    { sender, recipient }: NewMessage,
    owner: Owner,
    link: Link | undefined,
    quoted: Found["quoted"],
  ): Promise<SenderChoice> {
    const { linkDirectory, lastSenders } = this.#parts;
    if (typeof sender === "string") return { sender, senderReason: "named" };
    if (quoted !== undefined && "number" in quoted && quoted.number !== null) return { sender: quoted.number, senderReason: "reply" };
    if (link === undefined) return { sender: null, senderReason: null };
    const { accountId, environment } = owner;
    const query = { accountId, environment, recipient };
    const candidates = candidatesOn(linkDirectory.current, link, query);
    const last = candidates === undefined || candidates.pool.length < 2 ? null : await lastSenders.find(query, candidates.pool);
    return pickFrom(candidates, link, { recipient, last }, linkDirectory.waitOf);
  }

  async #findTemplates(request: NewMessage, owner: Owner): Promise<TemplatesByName> {
    const names = namedTemplates(request);
    if (names.length === 0) return new Map();
    const { templates } = this.#parts;
    const find = async (name: string) => (await templates.find(owner, name)) ?? templates.explainUnknown(owner, name);
    return new Map(await Promise.all(names.map(async (name) => [name, await find(name)] as const)));
  }

  #composeFrom(parts: ComposeParts): Composed {
    const { origin, content, steps, quoted, link, weights } = parts;
    const { requestId, conceal, source = null, batchId = null, trace = null } = origin;
    const shown = conceal?.(content) ?? null;
    const nowMs = this.#parts.clock.now();
    const id = newId("msg", nowMs, requestId);
    const kinship = { inReplyTo: quoted?.id ?? null, hasFallback: steps.length > 0, source, batchId, trace };
    const message = fromRequest({ ...parts, id, nowMs, dueMs: this.#parts.clock.dueNow(), shown, ...kinship });
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

  linkFor(query: RouteQuery, { mayWait = false, pointer = "" } = {}): ChosenLink | Problem {
    const { linkDirectory } = this.#parts;
    const choice = mayWait ? chooseToWait(linkDirectory.current, query) : chooseLinks(linkDirectory.current, query);
    if (choice.kind === "chosen") {
      const chosen = { link: choice.links[0], linkReason: choice.reason };
      return choice.weighed === undefined ? chosen : { ...chosen, weights: linkWeights(choice.weighed) };
    }
    if (choice.kind === "not_carried") return notCarried(`${pointer}/content`, choice.detail);
    if (choice.kind === "destination_not_permitted") return new Problem(choice.kind);
    const explain = choice.kind === "no_route" ? explainNoRoute : explainSender;
    return new Problem(choice.kind, { detail: explain(linkDirectory.current, query) });
  }

  #checkWith(request: NewMessage, owner: Owner, found: Found): CheckedRequest {
    const { files, quoted } = found;
    const problems: Problem[] = [];
    const orProblem = <T>(result: T | Problem): T | undefined => {
      if (!(result instanceof Problem)) return result;
      problems.push(result);
      return undefined;
    };
    const content = orProblem(makeContent(request, found));
    if (quoted !== undefined && "code" in quoted) problems.push(new Problem("invalid_request_payload", { errors: [quoted] }));
    const steps = (request.fallback ?? []).flatMap((step, index) => {
      const pointer = `/fallback/${index}`;
      const stepContent = orProblem(makeContent(step, found, pointer));
      if (stepContent === undefined) return [];
      const segmentLimit = { channel: step.channel, max_segments: request.max_segments ?? null };
      const need = needOfRequest(step);
      const stepRoute = (): ChosenLink | Problem =>
        this.linkFor({ ...owner, ...request, channel: step.channel, sender: null, need }, { pointer });
      const uncarried = need && stepRoute();
      if (uncarried instanceof Problem && uncarried.code === "invalid_request_payload") problems.push(uncarried);
      const tooMany = segmentProblem(segmentLimit, stepContent, () => linkOf(stepRoute()), pointer);
      if (tooMany !== undefined) problems.push(tooMany);
      return [{ channel: step.channel, content: stepContent, afterSeconds: step.after_seconds }];
    });
    const number = quoted !== undefined && "number" in quoted ? quoted.number : null;
    const isNamed = typeof request.sender === "string";
    const routed = this.linkFor({ ...owner, ...request, sender: request.sender ?? number, isNamed, need: needOfRequest(request) });
    const tooMany = content && segmentProblem(request, content, () => linkOf(routed));
    if (tooMany !== undefined) problems.push(tooMany);
    const route = orProblem(routed);
    const refused = route && content && carrierProblem(request, content, route.link);
    if (refused !== undefined) problems.push(refused);
    const unfitFiles = route === undefined || files.size === 0 ? [] : fileFaults(request, route.link, files);
    if (unfitFiles.length > 0) problems.push(new Problem("invalid_request_payload", { errors: unfitFiles }));
    const unfit = route && request.carrier_options && findOptionFaults(route.link, request.carrier_options);
    if (unfit && unfit.length > 0) problems.push(new Problem("invalid_request_payload", { errors: unfit }));
    return { content, steps, route, problems };
  }
}

const messageIn = ({ quoted }: Found): Message | undefined => (quoted !== undefined && "message" in quoted ? quoted.message : undefined);

const linkOf = (route: ChosenLink | Problem): Link | Problem => (route instanceof Problem ? route : route.link);

/** Checks the size of each step's record, which has the properties of the message and its own text. A step with too large a record
 *  could never be sent. */
function assertStepsFit(message: Message, steps: readonly FallbackStep[]): void {
  const errors = steps.flatMap(({ channel, content, shown }, index) => {
    const { body, template, structured = null } = shown ?? content;
    const segments = channel === "sms" && structured === null ? segmentsOf(content.body) : null;
    const record = messageRecord({ ...message, channel, body, content: structured, template, segments, fallbackOf: message.id });
    if (Buffer.byteLength(JSON.stringify(record)) <= MAX_RECORD_BYTES) return [];
    const detail = `the message that this step makes must not exceed ${MAX_RECORD_BYTES} bytes; shorten metadata or its body`;
    return [{ pointer: `/fallback/${index}`, code: "too_large", detail }];
  });
  if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
}

/** The time from which the message may be submitted. */
export const startTimeMs = ({ id, sendAtMs }: Message): number => Math.max(sendAtMs ?? 0, uuidTimeMs(id));

type RequestParts = Pick<Message, "id"> &
  Partial<Pick<Message, "batchId" | "fallbackOf" | "hasFallback" | "inReplyTo" | "source" | "trace">> & {
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
  const { batchId = null, fallbackOf = null, hasFallback = false, inReplyTo = null, source = null, trace = null } = parts;
  const { body, template, structured = null } = shown ?? content;
  const sendAtMs = typeof request.send_at === "string" ? Date.parse(request.send_at) : null;
  const isScheduled = sendAtMs !== null && sendAtMs > dueMs;
  return newMessage(owner, id, {
    direction: "outbound",
    channel: request.channel,
    recipient: request.recipient,
    sender,
    senderReason,
    linkReason,
    body: body === "" && structured ? null : body,
    content: structured,
    template,
    status: isScheduled ? "scheduled" : "queued",
    segments: request.channel === "sms" && structured === null ? segmentsOf(content.body, link.segmentRules) : null,
    priority: request.priority ?? "normal",
    clientReference: request.client_reference ?? null,
    metadata: request.metadata ?? {},
    maxSegments: request.max_segments ?? null,
    carrierOptions: request.carrier_options ?? null,
    sendAtMs,
    expiresAtMs: (isScheduled ? sendAtMs : nowMs) + (request.ttl_seconds ?? DEFAULT_TTL_SECONDS) * 1_000,
    hasFallback,
    fallbackOf,
    inReplyTo,
    batchId,
    source,
    trace,
  });
}

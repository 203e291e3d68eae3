/** The desk of a WhatsApp business account: its templates listed, handed in, changed and taken away, one call at a time. */
import { assert, unreachable } from "../../lib/assert.ts";
import type { Log } from "../../lib/log.ts";
import { HttpCaller, type HttpAnswer, type HttpCall } from "../http-call.ts";
import { wordsOf } from "../http-link.ts";
import type {
  CarrierTemplate,
  ReviewableTemplate,
  TemplateList,
  RemoveResult,
  SubmitResult,
  BusinessAccountClient,
  AccountFailure,
} from "../business-account.ts";
import { componentsOf, creationOf, formFault, isSame } from "./components.ts";
import { interpretTemplateError } from "./errors.ts";
import { languageCode } from "./language.ts";
import { statusOf, templateIn } from "./template-list.ts";

export type BusinessAccountSettings = { baseUrl: string; version: string; wabaId: string; accessToken: string };

// Well within the time for which whoever syncs has the desk for itself.
const CALL_MS = 15_000;
const PAGE_SIZE = 100;
// A verified business may have six thousand.
const MAX_PAGES = 80;
// A template has ten kilobytes at most, with its examples.
const MAX_PAGE_BYTES = 2_097_152;

const FIELDS = "id,name,language,status,category,components,parameter_format,rejected_reason";

/** The business account as all links to it name it. */
export function accountName(baseUrl: string, wabaId: string): string {
  const { host, pathname } = new URL(baseUrl);
  return `whatsapp ${host}${pathname.replace(/\/+$/, "")} ${wabaId}`;
}

export class WhatsAppBusinessAccount implements BusinessAccountClient {
  readonly languageCode = languageCode;
  readonly isSame = isSame;
  readonly #caller: HttpCaller;
  readonly #root: string;
  readonly #templates: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #log: Log;

  constructor({ baseUrl, version, wabaId, accessToken }: BusinessAccountSettings, log: Log) {
    assert(/^\d+$/.test(wabaId), "the id of a business account has digits only");
    this.#caller = new HttpCaller({ baseUrl, connections: 1, timeoutMs: CALL_MS, maxBodyBytes: MAX_PAGE_BYTES });
    this.#root = `/${version}`;
    this.#templates = `${this.#root}/${wabaId}/message_templates`;
    this.#headers = { authorization: `Bearer ${accessToken}` };
    this.#log = log;
  }

  async list(signal: AbortSignal): Promise<TemplateList | AccountFailure> {
    const templates: CarrierTemplate[] = [];
    let isComplete = true;
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const answer = await this.#listPage(after, signal);
      if (answer.kind !== "page") return answer;
      const read = answer.entries.map(templateIn);
      const junk = read.filter((each) => each === undefined).length;
      if (junk > 0)
        this.#log.warn(
          { event: "templates.list_unreadable", provider: "whatsapp", junk },
          "entries of the list of templates could not be read",
        );
      isComplete &&= junk === 0;
      templates.push(...read.filter((each) => each !== undefined));
      if (answer.after === undefined || answer.after === after)
        return { kind: "listed", templates, isComplete: isComplete && answer.after === undefined };
      after = answer.after;
    }
    this.#log.warn(
      { event: "templates.list_truncated", provider: "whatsapp", pages: MAX_PAGES },
      "the list of templates is longer than the pages that are read",
    );
    return { kind: "listed", templates, isComplete: false };
  }

  async submit(
    template: ReviewableTemplate,
    before: CarrierTemplate | undefined,
    signal: AbortSignal,
  ): Promise<SubmitResult | AccountFailure> {
    const fault = formFault(template);
    if (fault !== undefined) return { kind: "refused", reason: fault };
    const answer = await this.#call(before === undefined ? this.#creation(template) : this.#edit(template, before), signal);
    if (answer.kind !== "answered") return answer;
    const words = wordsOf(answer);
    const id = before?.id ?? words?.["id"];
    if (typeof id !== "string" || id === "") return { kind: "unavailable", reason: "WhatsApp said yes, and gave the template no id" };
    return { kind: "submitted", id, status: statusOf(words?.["status"])?.status ?? "pending" };
  }

  async remove({ id, name }: { id: string; name: string }, signal: AbortSignal): Promise<RemoveResult | AccountFailure> {
    const query = new URLSearchParams({ hsm_id: id, name });
    const answer = await this.#call({ method: "DELETE", path: `${this.#templates}?${query.toString()}`, headers: this.#headers }, signal);
    if (answer.kind === "exists") return { kind: "refused", reason: "WhatsApp did not take it away" };
    return answer.kind === "answered" ? { kind: "removed" } : answer;
  }

  close(): Promise<void> {
    return this.#caller.close();
  }

  #creation(template: ReviewableTemplate): HttpCall {
    return this.#post(this.#templates, creationOf(template));
  }

  /** Name and language stay as they are, and so does the category of one that was approved. */
  #edit(template: ReviewableTemplate, { id, status, template: theirs }: CarrierTemplate): HttpCall {
    const isOther = status !== "approved" && theirs?.category !== template.category;
    return this.#post(`${this.#root}/${encodeURIComponent(id)}`, {
      ...(isOther ? { category: template.category.toUpperCase() } : {}),
      components: componentsOf(template),
    });
  }

  #post(path: string, body: object): HttpCall {
    return { method: "POST", path, headers: { ...this.#headers, "content-type": "application/json" }, body: JSON.stringify(body) };
  }

  async #listPage(after: string | undefined, signal: AbortSignal): Promise<Page | AccountFailure> {
    const query = new URLSearchParams({ fields: FIELDS, limit: String(PAGE_SIZE), ...(after === undefined ? {} : { after }) });
    const answer = await this.#call({ method: "GET", path: `${this.#templates}?${query.toString()}`, headers: this.#headers }, signal);
    // There is no template that it could be about.
    if (answer.kind === "refused" || answer.kind === "exists")
      return { kind: "blocked", reason: "WhatsApp does not list the templates of the business account" };
    return answer.kind === "answered" ? pageIn(answer) : answer;
  }

  /** The answer, if it is a yes. */
  async #call(call: HttpCall, signal: AbortSignal): Promise<HttpAnswer | ReturnType<typeof interpretTemplateError>> {
    const reply = await this.#caller.call(call, signal);
    switch (reply.kind) {
      case "unreachable":
        return { kind: "unavailable", reason: `no connection to WhatsApp: ${reply.cause}` };
      case "unanswered":
        return { kind: "unavailable", reason: `no answer from WhatsApp: ${reply.cause}` };
      case "answered":
        return reply.status >= 200 && reply.status <= 299 && wordsOf(reply)?.["error"] === undefined
          ? reply
          : interpretTemplateError(reply);
      default:
        return unreachable(reply);
    }
  }
}

type Page = { kind: "page"; entries: readonly unknown[]; after: string | undefined };

/** Whether there is another page is told by its address; where it begins, by the cursor. */
function pageIn(answer: HttpAnswer): Page | AccountFailure {
  const words = wordsOf(answer);
  const entries = words?.["data"];
  if (!Array.isArray(entries)) return { kind: "unavailable", reason: "WhatsApp's list of templates could not be read" };
  const paging = (words?.["paging"] ?? {}) as { cursors?: { after?: unknown }; next?: unknown };
  const after = paging.next === undefined ? undefined : paging.cursors?.after;
  return { kind: "page", entries, after: typeof after === "string" && after !== "" && after.length <= 2_000 ? after : undefined };
}

/** A WhatsApp business account: lists, submits, edits and deletes its templates, one call at a time. */
import { assert, unreachable } from "../../lib/assert.ts";
import type { Log } from "../../model/log.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import { causeOf } from "../../outbound/failure.ts";
import { HttpClient, targetBelow, type HttpRequest, type HttpResponse } from "../../outbound/http-client.ts";
import type {
  AccountFailure,
  BusinessAccountClient,
  CarrierTemplate,
  RemoveResult,
  ReviewableTemplate,
  SubmitResult,
  TemplateList,
} from "../business-account.ts";
import { parseJsonObject } from "../carrier-fields.ts";
import { formFault, isSame, toComponents, toCreation } from "./components.ts";
import { interpretTemplateError } from "./errors.ts";
import { languageCode } from "./language.ts";
import { parseStatus, parseTemplate } from "./template-list.ts";

export type BusinessAccountSettings = {
  baseUrl: string;
  version: string;
  wabaId: string;
  accessToken: string;
  gate?: AddressGate | undefined;
};

// Well within the claim of the node that syncs the account.
const CALL_MS = 15_000;
const PAGE_SIZE = 100;
// A verified business may have 6,000 templates.
const MAX_PAGES = 80;
// A template with its examples has at most 10 kB.
const MAX_PAGE_BYTES = 2_097_152;

const FIELDS = "id,name,language,status,category,components,parameter_format,rejected_reason";

/** The name of the business account, the same for all links of an owner to it. */
export function accountName({ baseUrl, owner }: { baseUrl: string; owner?: string | undefined }, wabaId: string): string {
  const { host, pathname } = new URL(baseUrl);
  return `whatsapp ${host}${pathname.replace(/\/+$/, "")} ${wabaId}${owner === undefined ? "" : ` of ${owner}`}`;
}

export class WhatsAppBusinessAccount implements BusinessAccountClient {
  readonly languageCode = languageCode;
  readonly isSame = isSame;
  readonly #client: HttpClient;
  readonly #origin: string;
  readonly #root: string;
  readonly #templates: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #log: Log;

  constructor({ baseUrl, version, wabaId, accessToken, gate }: BusinessAccountSettings, log: Log) {
    assert(/^\d+$/.test(wabaId), "the id of a business account has digits only");
    this.#client = new HttpClient({ gate, connections: 1, timeoutMs: CALL_MS, maxBodyBytes: MAX_PAGE_BYTES });
    const { origin, path } = targetBelow(baseUrl, `/${version}`);
    this.#origin = origin;
    this.#root = path;
    this.#templates = `${this.#root}/${wabaId}/message_templates`;
    this.#headers = { authorization: `Bearer ${accessToken}` };
    this.#log = log;
  }

  async list(signal: AbortSignal): Promise<TemplateList | AccountFailure> {
    const templates: CarrierTemplate[] = [];
    let isComplete = true;
    let after: string | undefined;
    for (let page = 0; page < MAX_PAGES; page += 1) {
      const result = await this.#listPage(after, signal);
      if (result.kind !== "page") return result;
      const parsed = result.entries.map(parseTemplate);
      const unreadable = parsed.filter((each) => each === undefined).length;
      if (unreadable > 0)
        this.#log.warn(
          { event: "templates.list_unreadable", provider: "whatsapp", unreadable },
          "entries of the list of templates could not be read",
        );
      isComplete &&= unreadable === 0;
      templates.push(...parsed.filter((each) => each !== undefined));
      if (result.after === undefined || result.after === after)
        return { kind: "listed", templates, isComplete: isComplete && result.after === undefined };
      after = result.after;
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
    const response =
      before === undefined
        ? await this.#call("POST", this.#templates, toCreation(template), signal)
        : await this.#call("POST", `${this.#root}/${encodeURIComponent(before.id)}`, toEdit(template, before), signal);
    if (response.kind !== "response") return response;
    const fields = parseJsonObject(response);
    const id = before?.id ?? fields?.["id"];
    if (typeof id !== "string" || id === "") return { kind: "unavailable", reason: "WhatsApp said yes, and gave the template no id" };
    return { kind: "submitted", id, status: parseStatus(fields?.["status"])?.status ?? "pending" };
  }

  async remove({ id, name }: { id: string; name: string }, signal: AbortSignal): Promise<RemoveResult | AccountFailure> {
    const query = new URLSearchParams({ hsm_id: id, name });
    const response = await this.#call("DELETE", `${this.#templates}?${query.toString()}`, undefined, signal);
    if (response.kind === "exists") return { kind: "refused", reason: "WhatsApp did not take it away" };
    return response.kind === "response" ? { kind: "removed" } : response;
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #listPage(after: string | undefined, signal: AbortSignal): Promise<Page | AccountFailure> {
    const query = new URLSearchParams({ fields: FIELDS, limit: String(PAGE_SIZE), ...(after === undefined ? {} : { after }) });
    const response = await this.#call("GET", `${this.#templates}?${query.toString()}`, undefined, signal);
    // The call concerns no single template, so a refusal concerns the account.
    if (response.kind === "refused" || response.kind === "exists")
      return { kind: "blocked", reason: "WhatsApp does not list the templates of the business account" };
    return response.kind === "response" ? parsePage(response) : response;
  }

  /** Returns the response if the call succeeded. */
  async #call(
    method: HttpRequest["method"],
    path: string,
    body: object | undefined,
    signal: AbortSignal,
  ): Promise<HttpResponse | ReturnType<typeof interpretTemplateError>> {
    const headers = body === undefined ? this.#headers : { ...this.#headers, "content-type": "application/json" };
    const request = { origin: this.#origin, path, method, headers, body: body === undefined ? "" : JSON.stringify(body) };
    const outcome = await this.#client.call(request, signal);
    switch (outcome.kind) {
      case "unreachable":
        return { kind: "unavailable", reason: `no connection to WhatsApp: ${causeOf(outcome.error)}` };
      case "no_response":
        return { kind: "unavailable", reason: `no response from WhatsApp: ${causeOf(outcome.error)}` };
      case "response":
        return isSuccess(outcome) ? outcome : interpretTemplateError(outcome);
      default:
        return unreachable(outcome);
    }
  }
}

/** The name, the language, and the category of an approved template cannot be edited. */
const toEdit = (template: ReviewableTemplate, { status, template: theirs }: CarrierTemplate): object => ({
  ...(status !== "approved" && theirs?.category !== template.category ? { category: template.category.toUpperCase() } : {}),
  components: toComponents(template),
});

type Page = { kind: "page"; entries: readonly unknown[]; after: string | undefined };

const isSuccess = (response: HttpResponse): boolean =>
  response.status >= 200 && response.status <= 299 && parseJsonObject(response)?.["error"] === undefined;

/** `next` is present if there is another page; the cursor names its start. */
function parsePage(response: HttpResponse): Page | AccountFailure {
  const fields = parseJsonObject(response);
  const entries = fields?.["data"];
  if (!Array.isArray(entries)) return { kind: "unavailable", reason: "WhatsApp's list of templates could not be read" };
  const paging = (fields?.["paging"] ?? {}) as { cursors?: { after?: unknown }; next?: unknown };
  const after = paging.next === undefined ? undefined : paging.cursors?.after;
  return { kind: "page", entries, after: typeof after === "string" && after !== "" && after.length <= 2_000 ? after : undefined };
}

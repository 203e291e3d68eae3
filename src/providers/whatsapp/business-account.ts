/** A WhatsApp business account: lists, submits, edits and deletes its templates, one call at a time. */
import { requireUrl, withoutFinalSlashes } from "../../lib/urls.ts";
import { assert, unreachable } from "../../lib/assert.ts";
import type { Log } from "../../model/log.ts";
import type { AddressGate } from "../../outbound/address-gate.ts";
import { causeOf } from "../../outbound/failure.ts";
import { HttpClient, targetBelow, type HttpRequest } from "../../outbound/http-client.ts";
import type { AccountFailure, BusinessAccountClient, CarrierTemplate, ReviewableTemplate } from "../business-account.ts";
import { parseJsonObject, type JsonObject } from "../carrier-fields.ts";
import { formFault, isSame, toComponents, toCreation, languageCode } from "./components.ts";
import { interpretTemplateError } from "./errors.ts";
import { parseStatus, parseTemplate } from "./template-list.ts";

// Well within the claim of the node that syncs the account.
const CALL_MS = 15_000;
const PAGE_SIZE = 50;
// A verified business may have 6,000 templates.
const MAX_PAGES = 120;
// A template with its examples has at most 10 kB.
const MAX_PAGE_BYTES = 524_288;

const FIELDS = "id,name,language,status,category,components,parameter_format,rejected_reason";

/** The name of the business account, the same for all links of an owner to it. */
export function accountName({ baseUrl, owner }: { baseUrl: string; owner?: string | undefined }, wabaId: string): string {
  const { host, pathname } = requireUrl(baseUrl);
  return `whatsapp ${host}${withoutFinalSlashes(pathname)} ${wabaId}${owner === undefined ? "" : ` of ${owner}`}`;
}

type AccountSettings = { baseUrl: string; version: string; wabaId: string; accessToken: string; gate?: AddressGate | undefined };

export function openBusinessAccount(settings: AccountSettings, log: Log): BusinessAccountClient {
  const { baseUrl, version, wabaId, accessToken, gate } = settings;
  assert(/^\d+$/.test(wabaId), "the id of a business account has digits only");
  const client = new HttpClient({ gate, connections: 1, timeoutMs: CALL_MS, maxBodyBytes: MAX_PAGE_BYTES });
  const { origin, path: root } = targetBelow(baseUrl, `/${version}`);
  const templatesPath = `${root}/${wabaId}/message_templates`;

  /** Returns the fields of the response if the call succeeded. */
  async function call(
    method: HttpRequest["method"],
    path: string,
    body: object | undefined,
    signal: AbortSignal,
  ): Promise<{ kind: "response"; fields: JsonObject | undefined } | ReturnType<typeof interpretTemplateError>> {
    const headers = { authorization: `Bearer ${accessToken}`, ...(body && { "content-type": "application/json" }) };
    const request = { origin, path, method, headers, body: body === undefined ? "" : JSON.stringify(body) };
    const outcome = await client.call(request, signal);
    switch (outcome.kind) {
      case "unreachable":
        return { kind: "unavailable", reason: `no connection to WhatsApp: ${causeOf(outcome.error)}` };
      case "no_response":
        return { kind: "unavailable", reason: `no response from WhatsApp: ${causeOf(outcome.error)}` };
      case "response": {
        const fields = parseJsonObject(outcome);
        const isSuccess = outcome.status >= 200 && outcome.status <= 299 && fields?.["error"] === undefined;
        return isSuccess ? { kind: "response", fields } : interpretTemplateError(outcome, fields?.["error"]);
      }
      default:
        return unreachable(outcome);
    }
  }

  async function listPage(after: string | undefined, signal: AbortSignal): Promise<Page | AccountFailure> {
    const query = new URLSearchParams({ fields: FIELDS, limit: String(PAGE_SIZE), ...(after === undefined ? {} : { after }) });
    const response = await call("GET", `${templatesPath}?${query.toString()}`, undefined, signal);
    // The call concerns no single template, so a refusal concerns the account.
    if (response.kind === "refused" || response.kind === "exists")
      return { kind: "blocked", reason: "WhatsApp does not list the templates of the business account" };
    return response.kind === "response" ? parsePage(response.fields) : response;
  }

  return {
    languageCode,
    isSame,
    close: () => client.close(),

    async list(signal) {
      const templates: CarrierTemplate[] = [];
      let isComplete = true;
      let after: string | undefined;
      for (let page = 0; page < MAX_PAGES; page += 1) {
        const result = await listPage(after, signal);
        if (result.kind !== "page") return result;
        const parsed = result.entries.map(parseTemplate);
        const unreadable = parsed.filter((each) => each === undefined).length;
        if (unreadable > 0)
          log.warn(
            { event: "templates.list_unreadable", provider: "whatsapp", unreadable },
            "entries of the list of templates could not be read",
          );
        isComplete &&= unreadable === 0;
        templates.push(...parsed.filter((each) => each !== undefined));
        if (result.after === undefined || result.after === after)
          return { kind: "listed", templates, isComplete: isComplete && result.after === undefined };
        after = result.after;
      }
      log.warn(
        { event: "templates.list_truncated", provider: "whatsapp", pages: MAX_PAGES },
        "the list of templates is longer than the pages that are read",
      );
      return { kind: "listed", templates, isComplete: false };
    },

    async submit(template, before, signal) {
      const fault = formFault(template);
      if (fault !== undefined) return { kind: "refused", reason: fault };
      const response =
        before === undefined
          ? await call("POST", templatesPath, toCreation(template), signal)
          : await call("POST", `${root}/${encodeURIComponent(before.id)}`, toEdit(template, before), signal);
      if (response.kind !== "response") return response;
      const { fields } = response;
      const id = before?.id ?? fields?.["id"];
      if (typeof id !== "string" || id === "") return { kind: "unavailable", reason: "WhatsApp said yes, and gave the template no id" };
      return { kind: "submitted", id, status: parseStatus(fields?.["status"])?.status ?? "pending" };
    },

    async remove({ id, name }, signal) {
      const query = new URLSearchParams({ hsm_id: id, name });
      const response = await call("DELETE", `${templatesPath}?${query.toString()}`, undefined, signal);
      if (response.kind === "exists") return { kind: "refused", reason: "WhatsApp did not take it away" };
      return response.kind === "response" ? { kind: "removed" } : response;
    },
  };
}

/** The name, the language, and the category of an approved template cannot be edited. */
const toEdit = (template: ReviewableTemplate, { status, template: theirs }: CarrierTemplate): object => ({
  ...(status !== "approved" && theirs?.category !== template.category ? { category: template.category.toUpperCase() } : {}),
  components: toComponents(template),
});

type Page = { kind: "page"; entries: readonly unknown[]; after: string | undefined };

/** `next` is present if there is another page; the cursor names its start. */
function parsePage(fields: JsonObject | undefined): Page | AccountFailure {
  const entries = fields?.["data"];
  if (!Array.isArray(entries)) return { kind: "unavailable", reason: "WhatsApp's list of templates could not be read" };
  const paging = (fields?.["paging"] ?? {}) as { cursors?: { after?: unknown }; next?: unknown };
  const after = paging.next === undefined ? undefined : paging.cursors?.after;
  return { kind: "page", entries, after: typeof after === "string" && after !== "" && after.length <= 2_000 ? after : undefined };
}

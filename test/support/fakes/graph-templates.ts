/** The templates of the business accounts in the fake Cloud API: lists by pages, creation, edits and deletion. The test decides the
 *  reviews. */
import { respond, type CarrierBehavior, type Seen } from "./http-carrier.ts";

export type GraphTemplate = {
  id: string;
  waba: string;
  name: string;
  language: string;
  category: string;
  status: string;
  rejected_reason: string;
  parameter_format: string;
  components: Record<string, unknown>[];
};

type Creation = Pick<GraphTemplate, "name" | "language" | "category" | "components"> & { parameter_format?: string };

/** An error response in the format of Meta. */
export const graphError = (code: number, status = 400, fields: object = {}): CarrierBehavior =>
  respond(
    { error: { message: `(#${code}) as Meta says it`, type: "OAuthException", code, fbtrace_id: "Az8or2yhqkZfEZ", ...fields } },
    status,
  );

const refused = (title: string, message: string, subcode?: number): CarrierBehavior =>
  graphError(100, 400, {
    error_user_title: title,
    error_user_msg: message,
    ...(subcode === undefined ? {} : { error_subcode: subcode }),
  });

// The statuses in which a template can be edited.
const EDITABLE: ReadonlySet<string> = new Set(["APPROVED", "REJECTED", "PAUSED"]);

export class GraphTemplates {
  readonly all: GraphTemplate[] = [];
  /** Replaces the normal response to a request, unless the function returns undefined. */
  behavior: ((seen: Seen) => CarrierBehavior | undefined) | undefined;
  /** The maximum size of a page, also if the request has a higher limit. */
  pageSize = 1_000;
  /** Entries that every list contains in addition to the templates. */
  junk: unknown[] = [];
  /** The status of a template after its submission. */
  firstStatus = "PENDING";
  #ids = 900_000_000_000_000;

  find(name: string, language = "en"): GraphTemplate | undefined {
    return this.all.find((each) => each.name === name && each.language === language);
  }

  /** Adds a template without a request. */
  add(fields: Partial<GraphTemplate> & Pick<GraphTemplate, "name">): GraphTemplate {
    const template: GraphTemplate = {
      id: String((this.#ids += 1)),
      waba: WABA_ID,
      language: "en",
      category: "UTILITY",
      status: "APPROVED",
      rejected_reason: "NONE",
      parameter_format: "POSITIONAL",
      components: [{ type: "BODY", text: "Hello" }],
      ...fields,
    };
    this.all.push(template);
    return template;
  }

  /** The response to a request; undefined if the request is not about templates. */
  answer(seen: Seen): CarrierBehavior | undefined {
    const url = new URL(seen.path, "http://graph.test");
    const [, , first = "", second] = url.pathname.split("/");
    const one = second === undefined && seen.method === "POST" ? this.all.find(({ id }) => id === first) : undefined;
    if (second !== "message_templates" && one === undefined) return undefined;
    const replaced = this.behavior?.(seen);
    if (replaced !== undefined) return replaced;
    if (one !== undefined) return this.#edit(one, JSON.parse(seen.body) as Partial<Creation>);
    if (seen.method === "GET") return this.#list(first, url.searchParams);
    if (seen.method === "POST") return this.#create(first, JSON.parse(seen.body) as Creation);
    return this.#remove(first, url.searchParams);
  }

  #list(waba: string, query: URLSearchParams): CarrierBehavior {
    const entries: unknown[] = [...this.all.filter((each) => each.waba === waba), ...this.junk];
    const from = Number(Buffer.from(query.get("after") ?? "", "base64url").toString() || 0);
    const to = from + Math.min(this.pageSize, Number(query.get("limit")));
    const paging = {
      cursors: { before: "QQ", after: Buffer.from(String(to)).toString("base64url") },
      ...(to < entries.length ? { next: "https://graph.facebook.com/the-next-page" } : {}),
    };
    return respond({ data: entries.slice(from, to), paging });
  }

  #create(waba: string, { name, language, category, components, parameter_format: format = "POSITIONAL" }: Creation): CarrierBehavior {
    if (this.all.some((each) => each.waba === waba && each.name === name && each.language === language))
      return refused("Content in this language already exists", "There is already content for this language.", 2_388_024);
    const fault = faultIn(category, components);
    if (fault !== undefined) return refused("Invalid parameter", fault);
    const kept = category === "AUTHENTICATION" ? codeComponents() : components;
    const created = this.add({ waba, name, language, category, parameter_format: format, components: kept, status: this.firstStatus });
    return respond({ id: created.id, status: created.status, category });
  }

  #edit(template: GraphTemplate, { category, components = [] }: Partial<Creation>): CarrierBehavior {
    if (!EDITABLE.has(template.status)) return refused("Cannot be edited", `A template that is ${template.status} cannot be edited.`);
    if (category !== undefined && template.status === "APPROVED") return refused("Cannot be edited", "The category cannot be edited.");
    const fault = faultIn(template.category, components);
    if (fault !== undefined) return refused("Invalid parameter", fault);
    if (template.category !== "AUTHENTICATION") template.components = components;
    template.category = category ?? template.category;
    template.status = this.firstStatus;
    template.rejected_reason = "NONE";
    return respond({ success: true });
  }

  #remove(waba: string, query: URLSearchParams): CarrierBehavior {
    const at = this.all.findIndex((each) => each.waba === waba && each.id === query.get("hsm_id") && each.name === query.get("name"));
    if (at === -1) return refused("Not found", "There is no such template.");
    this.all.splice(at, 1);
    return respond({ success: true });
  }
}

export const WABA_ID = "102290129340398";

/** The components that Meta generates for an authentication template. */
const codeComponents = (): Record<string, unknown>[] => [
  {
    type: "BODY",
    text: "*{{1}}* is your verification code. For your security, do not share this code.",
    add_security_recommendation: true,
  },
  {
    type: "BUTTONS",
    buttons: [{ type: "URL", text: "Copy code", url: "https://www.whatsapp.com/otp/code/?otp_type=COPY_CODE&code=otp{{1}}" }],
  },
];

function faultIn(category: string, components: readonly Record<string, unknown>[]): string | undefined {
  if (category === "AUTHENTICATION") return components.some(({ text }) => text !== undefined) ? "The text is ours." : undefined;
  for (const { type, text, example = {} } of components) {
    const variables = [...new Set(Array.from((typeof text === "string" ? text : "").matchAll(/\{\{(\w+)\}\}/g), ([, name]) => name ?? ""))];
    const numbers = variables.filter((name) => /^\d+$/.test(name)).toSorted((a, b) => Number(a) - Number(b));
    if (numbers.some((number, index) => Number(number) !== index + 1)) return `The numbers of ${String(type)} have gaps.`;
    const field = type === "HEADER" ? "header_text" : "body_text";
    const given = example as Record<string, unknown[] | undefined>;
    const values = numbers.length > 0 ? (type === "HEADER" ? given[field] : given[field]?.[0]) : given[`${field}_named_params`];
    if (((values as unknown[] | undefined)?.length ?? 0) !== variables.length) return `${String(type)} lacks an example.`;
  }
  return undefined;
}

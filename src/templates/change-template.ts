/** The operations of clients and reviewers on templates. Each write is one transaction with its idempotency key, its event and its response. */
import type { Action } from "../audit/audit-event.ts";
import { recordChange } from "../audit/record-change.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay, type WriteResponse } from "../idempotency/once.ts";
import { encodeId, newId, type TemplateId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { publishEvent } from "../events/publish.ts";
import { assertContent } from "./content.ts";
import { applyEdit, statusOnSubmission, toButtons, type TemplateDecision } from "./edit-template.ts";
import { noSuchTemplate, whichTemplate, type Templates } from "./find-template.ts";
import type { EditTemplate, NewTemplate } from "./new-template.ts";
import { countTemplates, insertTemplate, insertVersion, lockTemplate, storeTemplate } from "./queries.ts";
import { MAX_TEMPLATES_EACH, templateRecord, type Template, type TemplateStatus } from "./template.ts";

type TemplateChangerParts = {
  db: Database;
  clock: Clock;
  wakeWebhooks: () => void;
  templates: Templates;
  /** Called when a client has submitted, changed or archived a template, so that a sync can follow. */
  changed?: (owner: Owner) => void;
};

export class TemplateChanger {
  readonly #parts: TemplateChangerParts;
  readonly #once: Once;

  constructor(parts: TemplateChangerParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
  }

  create(call: AuditedCall, request: NewTemplate): Promise<Executed | Replay> {
    return this.#write(call, async (tx) => {
      const template = newTemplate(call.credential, request, this.#now(), actorText(call.origin().actor));
      assertContent(template);
      if ((await countTemplates(tx, call.credential)) >= MAX_TEMPLATES_EACH)
        return new Problem("too_many_templates", {
          detail: `an environment can have at most ${MAX_TEMPLATES_EACH} templates besides archived ones`,
        });
      if (!(await insertTemplate(tx, template))) return nameTaken();
      await this.#record(tx, call, template, "template.created");
      await publishReview(tx, template);
      return { ...shown(template), status: 201, location: `/v1/templates/${encodeId("tmpl", template.id)}` };
    });
  }

  edit(call: AuditedCall, idOrName: string, request: EditTemplate): Promise<Executed | Replay> {
    return this.#change(call, idOrName, async (tx, before) => {
      if (before.status === "archived")
        return new Problem("template_not_editable", { detail: "the template is archived: create a new template" });
      const { template, isChanged, isNewVersion, isReviewed } = applyEdit(before, request, this.#now());
      assertContent(template);
      if (isChanged) {
        await storeTemplate(tx, template);
        await this.#record(tx, call, template, "template.changed");
      }
      if (isNewVersion) await insertVersion(tx, template);
      if (isReviewed) await publishReview(tx, template);
      return shown(template);
    });
  }

  /** Archives the template. Frees its name; messages already sent keep their text. */
  archive(call: AuditedCall, idOrName: string): Promise<Executed | Replay> {
    return this.#change({ ...call, claim: undefined }, idOrName, async (tx, before) => {
      if (before.status === "archived") return shown(before);
      const archived: Template = { ...before, status: "archived", statusReason: null, updatedAtMs: this.#now() };
      await storeTemplate(tx, archived);
      await this.#record(tx, call, archived, "template.archived");
      return shown(archived);
    });
  }

  /** Stores a decision about a submitted template. Returns undefined when that changes nothing: the template does not exist, is not
   *  submitted, or has that status already. */
  decide(owner: Owner, id: TemplateId, decide: Decide): Promise<Template | undefined> {
    return this.#transaction(owner, async (tx) => {
      const template = await lockTemplate(tx, owner, { id });
      if (template === undefined || template.status === "draft" || template.status === "archived") return undefined;
      const decision = await decide(tx, template);
      if (decision === undefined) return undefined;
      const { status, reason } = decision;
      const statusReason = reason === null ? null : shortened(reason);
      if (template.status === status && template.statusReason === statusReason) return undefined;
      const decided: Template = { ...template, status, statusReason, updatedAtMs: this.#now() };
      await storeTemplate(tx, decided);
      await publishReview(tx, decided);
      return decided;
    });
  }

  /** Imports a template of a carrier with its decision. `beside` writes more in the same transaction. Returns undefined when there is no
   *  room, or when the name is taken: a template that was written here stays. */
  import(
    owner: Owner,
    request: NewTemplate,
    reviewed: TemplateDecision,
    beside: (tx: Tx, template: Template) => Promise<void>,
  ): Promise<Template | undefined> {
    return this.#transaction(owner, async (tx) => {
      const template = { ...newTemplate(owner, request, this.#now(), "carrier"), ...reviewed };
      if ((await countTemplates(tx, owner)) >= MAX_TEMPLATES_EACH || !(await insertTemplate(tx, template))) return undefined;
      await beside(tx, template);
      await publishReview(tx, template);
      return template;
    });
  }

  /** Writes without a request of a client. */
  async #transaction(owner: Owner, work: (tx: Tx) => Promise<Template | undefined>): Promise<Template | undefined> {
    const { db, wakeWebhooks, templates } = this.#parts;
    try {
      const made = await db.transaction(work);
      if (made !== undefined) wakeWebhooks();
      return made;
    } finally {
      templates.forget(owner);
    }
  }

  #change(call: AuditedCall, idOrName: string, work: (tx: Tx, template: Template) => Promise<WriteResponse | Problem>) {
    const which = whichTemplate(idOrName);
    return this.#write(call, async (tx) => {
      const template = which && (await lockTemplate(tx, call.credential, which));
      if (template === undefined) throw await noSuchTemplate(tx, call.credential, idOrName);
      return work(tx, template);
    });
  }

  async #write(call: AuditedCall, work: (tx: Tx) => Promise<WriteResponse | Problem>): Promise<Executed | Replay> {
    const { wakeWebhooks, templates } = this.#parts;
    try {
      const response = await this.#once.write(call, work);
      if (response.kind === "executed") {
        wakeWebhooks();
        this.#parts.changed?.(call.credential);
      }
      return response;
    } finally {
      // Also after an error, because the outcome of a broken commit may be unknown.
      templates.forget(call.credential);
    }
  }

  #record(tx: Tx, { credential, origin }: AuditedCall, template: Template, action: Action): Promise<void> {
    const { id, name, version, status } = template;
    const target = { type: "template", id: encodeId("tmpl", id) } as const;
    return recordChange(tx, this.#now(), { ...credential, origin: origin() }, { action, target, changes: { name, version, status } });
  }

  #now(): number {
    return this.#parts.clock.now();
  }
}

export function newTemplate({ accountId, environment }: Owner, request: NewTemplate, nowMs: number, createdBy: string): Template {
  const { name, language, category, channels, body, header, header_media: headerMedia, footer, buttons, examples, status } = request;
  return {
    accountId,
    environment,
    id: newId("tmpl", nowMs),
    name,
    language,
    category,
    channels,
    ...(status === "draft" ? { status, statusReason: null } : statusOnSubmission({ environment, name, channels })),
    version: 1,
    body,
    header: header || null,
    headerMedia: headerMedia || null,
    footer: footer || null,
    buttons: toButtons(buttons),
    examples: examples ?? {},
    updatedAtMs: nowMs,
    createdBy,
  };
}

const shown = (template: Template): WriteResponse => jsonResponse(templateRecord(template));

const nameTaken = (): Problem =>
  new Problem("template_name_taken", {
    errors: [{ pointer: "/name", code: "template_name_taken", detail: "another template of this environment has this name" }],
  });

export type ReviewDecision = {
  status: "approved" | "rejected" | "paused";
  /** In the words of the reviewer. */
  reason: string | null;
};

/** Decides on the locked template, and may write more in the same transaction. Returns undefined when there is nothing to decide. */
type Decide = (tx: Tx, template: Template) => Promise<ReviewDecision | undefined>;

// The record is part of events, and the reason of a carrier may be long.
const MAX_REASON = 500;

/** Cuts a long reason, with a visible mark. */
function shortened(reason: string): string {
  const characters = Array.from(reason);
  return characters.length <= MAX_REASON ? reason : `${characters.slice(0, MAX_REASON - 1).join("")}…`;
}

const REVIEWED: ReadonlySet<TemplateStatus> = new Set(["approved", "rejected", "paused"]);

/** Publishes the result of a review. A pending template has none. */
async function publishReview(tx: Tx, template: Template): Promise<void> {
  const { accountId, environment, status, updatedAtMs } = template;
  if (!REVIEWED.has(status)) return;
  const event = { id: newId("evt", updatedAtMs), type: `template.${status}`, record: JSON.stringify(templateRecord(template)) };
  await publishEvent(tx, { accountId, environment, ...event });
}

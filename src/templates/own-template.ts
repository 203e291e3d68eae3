/** The template that a request names, by id or by name, if it is this environment's. */
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { decodeId } from "../lib/id.ts";
import type { Queryable } from "../storage/database.ts";
import { findTemplate, type Which } from "./queries.ts";
import { NAME_PATTERN, type Template } from "./template.ts";
import type { Owner } from "../storage/owner.ts";

export const TemplateParams = Type.Object({
  id: Type.String({ description: "The template's id, or its name; an archived template has only its id." }),
});

const name = new RegExp(NAME_PATTERN);

/** Undefined when it can be neither. */
export function whichTemplate(text: string): Which | undefined {
  const id = decodeId("tmpl", text);
  if (id !== undefined) return { id };
  return name.test(text) ? { name: text } : undefined;
}

export async function findOwnTemplate(db: Queryable, owner: Owner, text: string): Promise<Template> {
  const which = whichTemplate(text);
  const template = which && (await findTemplate(db, owner, which));
  if (template === undefined) throw noSuchTemplate();
  return template;
}

export const noSuchTemplate = (): Problem => new Problem("not_found", { detail: "no such template in this environment" });

/** Finds templates. The template of a message is cached for a second, so that messages that arrive together share one query. */
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { BoundedMap } from "../lib/bounded-map.ts";
import { didYouMean } from "../lib/nearest.ts";
import { remembered } from "../lib/remembered.ts";
import { decodeId, idKey, type TemplateId } from "../model/id.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import type { Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { findTemplate, listTemplates, templateNames, type Which } from "./queries.ts";
import { MAX_TEMPLATES_EACH, NAME_PATTERN, type Template } from "./template.ts";

// A paused or archived template must stop within about a second on every node.
const TRUST_MS = 1_000;
// Unknown names are cached as well. Otherwise each message of a client with a wrong name would query the database.
const MAX_CACHED = 10_000;
// Those that requests have named a wrong template in. Each has up to 500 names.
const MAX_ENVIRONMENTS = 50;

/** A query and its result. The query is shared while it runs, and its result until the time `until`. */
type CachedTemplate = { found: Promise<Template | undefined>; until: number };

export class Templates {
  readonly #db: Queryable;
  readonly #cached = new BoundedMap<string, CachedTemplate>(MAX_CACHED);

  readonly #names = new BoundedMap<string, () => Promise<string[]>>(MAX_ENVIRONMENTS);

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** Finds a template by id, archived or not, or by name. */
  async find(owner: Owner, idOrName: string): Promise<Template | undefined> {
    const key = environmentKey(owner) + idOrName;
    const cached = this.#cached.get(key);
    if (cached !== undefined && performance.now() < cached.until) return cached.found;
    const which = whichTemplate(idOrName);
    return which && this.#query(owner, key, which);
  }

  /** Says that an environment has no template with a name, and which one is near. The names are cached too. */
  async explainUnknown(owner: Owner, idOrName: string): Promise<string> {
    const key = environmentKey(owner);
    const readNames = this.#names.get(key) ?? remembered(TRUST_MS, () => templateNames(this.#db, owner));
    this.#names.set(key, readNames);
    return `no template of this environment has this id or name${didYouMean(idOrName, await readNames())}`;
  }

  /** Forgets the templates of an environment, also those whose query is still running. Called after each change in this process; other
   *  processes see the change within a second. */
  forget(owner: Owner): void {
    const environment = environmentKey(owner);
    for (const key of this.#cached.keys()) if (key.startsWith(environment)) this.#cached.delete(key);
  }

  #query(owner: Owner, key: string, which: Which): Promise<Template | undefined> {
    // The time before the query, because a change that the query does not see was made later.
    const until = performance.now() + TRUST_MS;
    const query = { found: findTemplate(this.#db, owner, which), until: Infinity };
    this.#cached.renew(key, query);
    query.found.then(
      () => (query.until = until),
      // A failed query leaves nothing behind.
      () => this.#cached.get(key) === query && this.#cached.delete(key),
    );
    return query.found;
  }
}

const environmentKey = ({ accountId, environment }: Owner): string => `${idKey(accountId)} ${environment} `;

/** Finds a template by id, archived or not, with its current content or that of one version. */
export const readTemplate = (db: Queryable, owner: Owner, id: TemplateId, version?: number): Promise<Template | undefined> =>
  findTemplate(db, owner, version === undefined ? { id } : { id, version });

const ALL = { before: MAX_UUID, status: null, channel: null, name: null };

/** Reads all templates of an environment except archived ones. */
export const readTemplates = async (db: Queryable, owner: Owner): Promise<Template[]> =>
  (await listTemplates(db, owner, ALL, MAX_TEMPLATES_EACH)).items;

export const TemplateParams = Type.Object({
  id: Type.String({ description: "The id or the name of the template. An archived template is found only by its id." }),
});

const namePattern = new RegExp(NAME_PATTERN);

/** Undefined when the text can be neither an id nor a name. */
export function whichTemplate(text: string): Which | undefined {
  const id = decodeId("tmpl", text);
  if (id !== undefined) return { id };
  return namePattern.test(text) ? { name: text } : undefined;
}

/** Finds the template that a request names by id or by name. Throws when the environment has none. */
export async function findOwnTemplate(db: Queryable, owner: Owner, text: string): Promise<Template> {
  const which = whichTemplate(text);
  const template = which && (await findTemplate(db, owner, which));
  if (template === undefined) throw await noSuchTemplate(db, owner, text);
  return template;
}

export const noSuchTemplate = async (db: Queryable, owner: Owner, text: string): Promise<Problem> =>
  new Problem("not_found", { detail: `no such template in this environment${didYouMean(text, await templateNames(db, owner))}` });

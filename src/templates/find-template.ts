/** Finds templates. The template of a message is cached for a second, so that messages that arrive together share one query. */
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { decodeId, idKey, type TemplateId } from "../model/id.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import type { Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { findTemplate, findVersion, listTemplates, type Which } from "./queries.ts";
import { MAX_TEMPLATES_EACH, NAME_PATTERN, type Template } from "./template.ts";

// A paused or archived template must stop within about a second on every node.
const TRUST_MS = 1_000;
// Unknown names are cached as well. Otherwise each message of a client with a wrong name would query the database.
const MAX_CACHED = 10_000;

type CachedTemplate = { template: Template | undefined; until: number };

/** The cache of one environment. A change drops the whole cache, so that the result of a query that is still running goes into a cache
 *  which is not used any more. */
type EnvironmentCache = { templates: Map<string, CachedTemplate>; queries: Map<string, Promise<Template | undefined>> };

export class Templates {
  readonly #db: Queryable;
  readonly #caches = new Map<string, EnvironmentCache>();
  #count = 0;

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** Finds a template by id, archived or not, or by name. Returns without waiting while the cached template is fresh. */
  find(owner: Owner, idOrName: string): Template | undefined | Promise<Template | undefined> {
    const name = cacheKey(owner);
    const cache = this.#caches.get(name);
    const cached = cache?.templates.get(idOrName);
    if (cached !== undefined && performance.now() < cached.until) return cached.template;
    const which = whichTemplate(idOrName);
    if (which === undefined) return undefined;
    // Simultaneous requests share one query.
    return cache?.queries.get(idOrName) ?? this.#query(owner, name, idOrName, which);
  }

  /** Drops the cache of an environment. Called after each change in this process; other processes see the change within a second. */
  forget(owner: Owner): void {
    const name = cacheKey(owner);
    this.#count -= this.#caches.get(name)?.templates.size ?? 0;
    this.#caches.delete(name);
  }

  #query(owner: Owner, name: string, idOrName: string, which: Which): Promise<Template | undefined> {
    const cache = this.#caches.get(name) ?? { templates: new Map(), queries: new Map() };
    this.#caches.set(name, cache);
    const query = this.#load(owner, { name, cache, idOrName, which }).finally(() => {
      cache.queries.delete(idOrName);
      // A failed query leaves nothing behind.
      if (cache.templates.size === 0 && cache.queries.size === 0 && this.#caches.get(name) === cache) this.#caches.delete(name);
    });
    cache.queries.set(idOrName, query);
    return query;
  }

  async #load(
    owner: Owner,
    { name, cache, idOrName, which }: { name: string; cache: EnvironmentCache; idOrName: string; which: Which },
  ): Promise<Template | undefined> {
    // The time before the query, because a change that the query does not see was made later.
    const queriedAt = performance.now();
    const template = await findTemplate(this.#db, owner, which);
    if (this.#caches.get(name) !== cache) return template;
    if (this.#count >= MAX_CACHED) this.#clear();
    if (!cache.templates.has(idOrName)) this.#count += 1;
    cache.templates.set(idOrName, { template, until: queriedAt + TRUST_MS });
    return template;
  }

  /** Drops all cached templates; running queries continue. */
  #clear(): void {
    for (const [name, cache] of this.#caches) {
      cache.templates.clear();
      if (cache.queries.size === 0) this.#caches.delete(name);
    }
    this.#count = 0;
  }
}

const cacheKey = ({ accountId, environment }: Owner): string => idKey(accountId) + environment;

/** Finds a template with the content of one version, for messages that keep the version they used. All other fields are current. */
export const findTemplateVersion = (db: Queryable, owner: Owner, id: TemplateId, version: number): Promise<Template | undefined> =>
  findVersion(db, owner, id, version);

/** Finds a template by id, archived or not. */
export const readTemplate = (db: Queryable, owner: Owner, id: TemplateId): Promise<Template | undefined> => findTemplate(db, owner, { id });

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
  if (template === undefined) throw noSuchTemplate();
  return template;
}

export const noSuchTemplate = (): Problem => new Problem("not_found", { detail: "no such template in this environment" });

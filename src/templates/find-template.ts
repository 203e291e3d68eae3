/** The template that a message names: looked up once for all messages that come in the same second. */
import { Problem } from "../http/problem.ts";
import { Type } from "../http/schema.ts";
import { decodeId, idKey, type TemplateId } from "../lib/id.ts";
import { MAX_UUID } from "../lib/uuid.ts";
import type { Queryable } from "../storage/database.ts";
import type { Owner } from "../storage/owner.ts";
import { findTemplate, findVersion, listTemplates, type Which } from "./queries.ts";
import { MAX_TEMPLATES_EACH, NAME_PATTERN, type Template } from "./template.ts";

// A template that was paused or archived must not be sent "within a second or so" on every node.
const TRUST_MS = 1_000;
// Names that nothing has are remembered as well, or a client with a wrong one would ask the database each time.
const MAX_REMEMBERED = 10_000;

type Remembered = { template: Template | undefined; until: number };

/** What is known of one environment. It is dropped whole when something there changes: an answer that is still on its way then
 *  arrives on a shelf that nobody looks at any more. */
type Shelf = { remembered: Map<string, Remembered>; asking: Map<string, Promise<Template | undefined>> };

export class Templates {
  readonly #db: Queryable;
  readonly #shelves = new Map<string, Shelf>();
  #count = 0;

  constructor(db: Queryable) {
    this.#db = db;
  }

  /** By id, archived or not; or by name. Without waiting while the answer is fresh. */
  find(owner: Owner, idOrName: string): Template | undefined | Promise<Template | undefined> {
    const name = shelfName(owner);
    const shelf = this.#shelves.get(name);
    const known = shelf?.remembered.get(idOrName);
    if (known !== undefined && performance.now() < known.until) return known.template;
    const which = whichTemplate(idOrName);
    if (which === undefined) return undefined;
    // Requests that come together ask once.
    return shelf?.asking.get(idOrName) ?? this.#ask(owner, name, idOrName, which);
  }

  /** After each change of a template of that environment in this process. Other processes find out within a second. */
  forget(owner: Owner): void {
    const name = shelfName(owner);
    this.#count -= this.#shelves.get(name)?.remembered.size ?? 0;
    this.#shelves.delete(name);
  }

  #ask(owner: Owner, name: string, idOrName: string, which: Which): Promise<Template | undefined> {
    const shelf = this.#shelves.get(name) ?? { remembered: new Map(), asking: new Map() };
    this.#shelves.set(name, shelf);
    const asking = this.#remember(owner, { name, shelf, idOrName, which }).finally(() => {
      shelf.asking.delete(idOrName);
      // A question that failed leaves nothing behind.
      if (shelf.remembered.size === 0 && shelf.asking.size === 0 && this.#shelves.get(name) === shelf) this.#shelves.delete(name);
    });
    shelf.asking.set(idOrName, asking);
    return asking;
  }

  async #remember(
    owner: Owner,
    { name, shelf, idOrName, which }: { name: string; shelf: Shelf; idOrName: string; which: Which },
  ): Promise<Template | undefined> {
    // From before the question: whatever it does not see was changed later.
    const askedAt = performance.now();
    const template = await findTemplate(this.#db, owner, which);
    if (this.#shelves.get(name) !== shelf) return template;
    if (this.#count >= MAX_REMEMBERED) this.#clear();
    if (!shelf.remembered.has(idOrName)) this.#count += 1;
    shelf.remembered.set(idOrName, { template, until: askedAt + TRUST_MS });
    return template;
  }

  /** Forgets the answers; who is still asking goes on. */
  #clear(): void {
    for (const [name, shelf] of this.#shelves) {
      shelf.remembered.clear();
      if (shelf.asking.size === 0) this.#shelves.delete(name);
    }
    this.#count = 0;
  }
}

const shelfName = ({ accountId, environment }: Owner): string => idKey(accountId) + environment;

/** A template with what it said in a version: for messages that keep the one they used. All else is as it is now. */
export const findTemplateVersion = (db: Queryable, owner: Owner, id: TemplateId, version: number): Promise<Template | undefined> =>
  findVersion(db, owner, id, version);

/** As it is now, archived or not. */
export const readTemplate = (db: Queryable, owner: Owner, id: TemplateId): Promise<Template | undefined> => findTemplate(db, owner, { id });

const ALL = { before: MAX_UUID, status: null, channel: null, name: null };

/** Every template of an environment, archived ones aside. */
export const readTemplates = async (db: Queryable, owner: Owner): Promise<Template[]> =>
  (await listTemplates(db, owner, ALL, MAX_TEMPLATES_EACH)).items;

export const TemplateParams = Type.Object({
  id: Type.String({ description: "The template's id, or its name; an archived template has only its id." }),
});

const namePattern = new RegExp(NAME_PATTERN);

/** Undefined when the text can be neither an id nor a name. */
export function whichTemplate(text: string): Which | undefined {
  const id = decodeId("tmpl", text);
  if (id !== undefined) return { id };
  return namePattern.test(text) ? { name: text } : undefined;
}

/** The template that a request names, by id or by name, if it is this environment's. */
export async function findOwnTemplate(db: Queryable, owner: Owner, text: string): Promise<Template> {
  const which = whichTemplate(text);
  const template = which && (await findTemplate(db, owner, which));
  if (template === undefined) throw noSuchTemplate();
  return template;
}

export const noSuchTemplate = (): Problem => new Problem("not_found", { detail: "no such template in this environment" });

/** The senders that an account has created on its links: requests, records and changes. */
import { Problem } from "../http/problem.ts";
import { createdByField, nullable, openEnum, optional, timestamp, Type, type Static } from "../http/schema.ts";
import type { AuditedCall, Executed, Replay } from "../idempotency/once.ts";
import { decodeId, encodeId, newId, type LinkId } from "../model/id.ts";
import { actorText } from "../model/origin.ts";
import { isoTime } from "../lib/time.ts";
import { uuidTimeMs } from "../lib/uuid.ts";
import { countryField, nameField, senderField } from "./address.ts";
import type { Queryable, Tx } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { deleteSender, lockSetup, readLinks, readSenders, writeSender, type SenderRow } from "./setup-queries.ts";
import { FILE_PREFIX, limitReached, requireCountries, requireLive, type Setup } from "./setup.ts";

const MAX_SENDERS = 500;

const options = {
  countries: optional(
    Type.Array(countryField, {
      minItems: 1,
      maxItems: 250,
      description: "The countries to which it sends. Absent: all countries that allow such a sender.",
    }),
  ),
  pool: optional({
    ...nameField,
    description: "The pool of senders. Senders of one pool share its messages, and a recipient keeps its sender.",
  }),
  preference: optional(Type.Integer({ minimum: -1_000, maximum: 1_000, description: "Senders with a higher preference are used first." })),
  rate: optional(Type.Number({ minimum: 0.01, maximum: 10_000, description: "The maximum number of messages per second." })),
};

export const NewSenderBody = Type.Object(
  {
    number: { ...senderField, description: "The sender: an E.164 number, a short code, or a name.", examples: ["+14155550100"] },
    link_id: Type.String({ maxLength: 64, description: "The id of a link of the account.", examples: ["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    ...options,
  },
  { additionalProperties: false, title: "NewSender", description: "A sender to create." },
);
type NewSender = Static<typeof NewSenderBody>;

export const EditSenderBody = Type.Object(options, {
  additionalProperties: false,
  title: "EditSender",
  description: "The fields to change.",
});
type EditSender = Static<typeof EditSenderBody>;

/** The fields that may be absent. */
export type SenderOptions = { countries?: string[]; pool?: string; preference?: number; rate?: number };

export const SenderRecord = Type.Object(
  {
    id: Type.String({ examples: ["snd_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the sender." }),
    object: Type.Literal("sender"),
    source: openEnum(
      ["file", "api"],
      "The origin. `file`: the configuration file of the operator; it cannot be changed here. `api`: created by the account.",
    ),
    number: Type.String({ examples: ["+14155550100"], description: "The number, short code or name." }),
    link_id: Type.String({ examples: ["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of its link." }),
    countries: nullable(Type.Array(Type.String(), { description: "The countries to which it sends. Null: all." })),
    pool: nullable(Type.String({ description: "The pool of senders." })),
    preference: nullable(Type.Integer({ description: "Senders with a higher preference are used first." })),
    rate: nullable(Type.Number({ description: "The maximum number of messages per second." })),
    created_at: nullable(timestamp("The time of creation. Null for a sender of the configuration file.")),
    updated_at: nullable(timestamp("The time of the last change. Null for a sender of the configuration file.")),
    created_by: createdByField,
  },
  { title: "Sender", description: "A number, short code or name from which messages are sent, on one link." },
);
type SenderRecord = Static<typeof SenderRecord>;

const toOptions = ({ countries, pool, preference, rate }: SenderOptions) => ({
  countries: countries ?? null,
  pool: pool ?? null,
  preference: preference ?? null,
  rate: rate ?? null,
});

const senderRecord = ({
  id,
  link_id: linkId,
  number,
  definition,
  updated_at: updatedAt,
  created_by: createdBy,
}: SenderRow): SenderRecord => ({
  id: encodeId("snd", id),
  object: "sender",
  source: "api",
  number,
  link_id: encodeId("lnk", linkId),
  ...toOptions(definition as SenderOptions),
  created_at: isoTime(uuidTimeMs(id)),
  updated_at: updatedAt.toISOString(),
  created_by: createdBy,
});

/** The options that have a value. */
const present = (fields: EditSender): SenderOptions =>
  Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== null && value !== undefined));

export class SenderChanger {
  readonly #setup: Setup;

  constructor(setup: Setup) {
    this.#setup = setup;
  }

  /** The senders of an account: those of the configuration file first. */
  async list(db: Queryable, owner: Owner): Promise<SenderRecord[]> {
    if (owner.environment !== "live") return [];
    const ofFile = this.#setup.linkChooser.fileSenders(owner).map(({ number, link, ...options_ }): SenderRecord => ({
      id: `${FILE_PREFIX}${link}:${number}`,
      object: "sender",
      source: "file",
      number,
      link_id: link,
      ...toOptions(options_),
      created_at: null,
      updated_at: null,
      created_by: null,
    }));
    return [...ofFile, ...(await readSenders(db, owner.accountId)).map(senderRecord)];
  }

  async read(db: Queryable, owner: Owner, id: string): Promise<SenderRecord> {
    const found = (await this.list(db, owner)).find((each) => each.id === id);
    if (found === undefined) throw this.#setup.unknown("sender");
    return found;
  }

  async create(call: AuditedCall, { number, link_id: linkText, ...rest }: NewSender): Promise<Executed | Replay> {
    const { credential, origin } = call;
    requireLive(credential);
    requireCountries(rest.countries);
    return this.#setup.write(call, async (tx) => {
      const linkId = await this.#findLink(tx, credential, linkText);
      const all = await readSenders(tx, credential.accountId);
      if (all.length >= MAX_SENDERS) return limitReached(`an account can have at most ${MAX_SENDERS} senders`);
      if (all.some((each) => each.number === number && each.link_id.equals(linkId)))
        return new Problem("already_exists", {
          errors: [{ pointer: "/number", code: "taken", detail: "the link already has this sender" }],
        });
      const nowMs = this.#setup.now();
      const row: SenderRow = {
        account_id: credential.accountId,
        id: newId("snd", nowMs),
        link_id: linkId,
        number,
        definition: present(rest),
        updated_at: new Date(nowMs),
        created_by: actorText(origin().actor),
      };
      await writeSender(tx, row);
      const id = encodeId("snd", row.id);
      await this.#setup.record(tx, call, { action: "sender.created", target: { type: "sender", id }, changes: { link: linkText } });
      return { status: 201, location: `/v1/senders/${id}`, body: JSON.stringify(senderRecord(row)), eventId: null };
    });
  }

  async edit(call: AuditedCall, text: string, request: EditSender): Promise<Executed | Replay> {
    requireCountries(request.countries);
    return this.#setup.write(call, async (tx) => {
      const row = await this.#find(tx, call.credential, text);
      const edited: SenderRow = {
        ...row,
        definition: present({ ...(row.definition as SenderOptions), ...request }),
        updated_at: new Date(this.#setup.now()),
      };
      await writeSender(tx, edited);
      const changes = { fields: Object.keys(request) };
      await this.#setup.record(tx, call, { action: "sender.changed", target: { type: "sender", id: text }, changes });
      return { status: 200, location: null, body: JSON.stringify(senderRecord(edited)), eventId: null };
    });
  }

  delete(call: AuditedCall, text: string): Promise<void> {
    return this.#setup.change(async (tx) => {
      await lockSetup(tx, call.credential.accountId);
      const { id } = await this.#find(tx, call.credential, text);
      await deleteSender(tx, call.credential.accountId, id);
      await this.#setup.record(tx, call, { action: "sender.deleted", target: { type: "sender", id: text } });
    });
  }

  async #find(tx: Tx, owner: Owner, text: string): Promise<SenderRow> {
    const id = owner.environment === "live" ? decodeId("snd", text) : undefined;
    const rows = id === undefined ? [] : await readSenders(tx, owner.accountId);
    const row = rows.find((each) => id !== undefined && each.id.equals(id));
    if (row === undefined) throw this.#setup.missing(owner, text, "sender");
    return row;
  }

  async #findLink(tx: Tx, { accountId }: Owner, text: string): Promise<LinkId> {
    const id = decodeId("lnk", text);
    const found = id === undefined ? undefined : (await readLinks(tx, accountId)).find((each) => each.id.equals(id));
    if (found === undefined) throw unknownLink("/link_id");
    return found.id;
  }
}

/** The fault of a request that names a link that the account does not have. */
export const unknownLink = (pointer: string): Problem =>
  new Problem("invalid_request_payload", {
    errors: [{ pointer, code: "unknown_value", detail: "must be a link that this account has created" }],
  });

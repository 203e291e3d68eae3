/** The senders that an account has created on its links: requests, records and changes. */
import { Problem } from "../http/problem.ts";
import { nullable, optional, Type, type Static } from "../http/schema.ts";
import { decodeId, encodeId, type LinkId } from "../model/id.ts";
import { nameField, senderField } from "./address.ts";
import { FILE_PREFIX } from "./directory.ts";
import { countryList, rankField, senderRate } from "./plan.ts";
import { deleteSender, readLinks, writeSender, type SenderOptions, type SenderRow } from "./setup-queries.ts";
import { presentFields, requireCountries, shownStamps, sourceField, stampFields, unknownLink, Resource, type SetupWrite } from "./setup.ts";
import { faultField, readStoredSenders, type Readable } from "./stored-rules.ts";

const options = {
  countries: optional({ ...countryList, description: "The countries to which it sends. Absent: all countries that allow such a sender." }),
  pool: optional({
    ...nameField,
    description: "The pool of senders. Senders of one pool share its messages, and a recipient keeps its sender.",
  }),
  preference: optional({ ...rankField, description: "Senders with a higher preference are used first." }),
  rate: optional({ ...senderRate, description: "The maximum number of messages per second." }),
};

export const NewSenderBody = Type.Object(
  {
    number: { ...senderField, description: "The sender: an E.164 number, a short code, or a name.", examples: ["+14155550100"] },
    link_id: Type.String({ maxLength: 64, description: "The id of a link of the account.", examples: ["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"] }),
    ...options,
  },
  { additionalProperties: false, title: "NewSender", description: "A sender to create." },
);

export const EditSenderBody = Type.Object(options, {
  additionalProperties: false,
  title: "EditSender",
  description: "The fields to change.",
});

export const SenderRecord = Type.Object(
  {
    id: Type.String({ examples: ["snd_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of the sender." }),
    object: Type.Literal("sender"),
    source: sourceField,
    number: Type.String({ examples: ["+14155550100"], description: "The number, short code or name." }),
    link_id: Type.String({ examples: ["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"], description: "The id of its link." }),
    countries: nullable(Type.Array(Type.String(), { description: "The countries to which it sends. Null: all." })),
    pool: nullable(Type.String({ description: "The pool of senders." })),
    preference: nullable(Type.Integer({ description: "Senders with a higher preference are used first." })),
    rate: nullable(Type.Number({ description: "The maximum number of messages per second." })),
    reason_detail: faultField("sender"),
    ...stampFields("sender"),
  },
  { title: "Sender", description: "A number, short code or name from which messages are sent, on one link." },
);
type SenderRecord = Static<typeof SenderRecord>;

type Identity = Pick<SenderRecord, "id" | "source" | "number" | "link_id">;

/** `row`: of a sender that the account has created. */
const senderRecord = ({ id, ...identity }: Identity, rules: SenderOptions, row?: Readable<SenderRow>): SenderRecord => ({
  id,
  object: "sender",
  ...identity,
  countries: rules.countries ?? null,
  pool: rules.pool ?? null,
  preference: rules.preference ?? null,
  rate: rules.rate ?? null,
  reason_detail: row?.fault ?? null,
  ...shownStamps(row),
});

export const SENDERS = new Resource<Readable<SenderRow>, SenderRecord, Static<typeof NewSenderBody>, Static<typeof EditSenderBody>>({
  noun: "sender",
  prefix: "snd",
  max: 500,

  listFile: ({ linkDirectory }, { accountId, environment }) =>
    linkDirectory.current.senders
      .filter((each) => each.source === "file" && each.accountId.equals(accountId) && each.environment === "live" && environment === "live")
      .map(({ number, link, ...rules }) =>
        senderRecord({ id: `${FILE_PREFIX}${link}:${number}`, source: "file", number, link_id: link }, rules),
      ),

  readRows: readStoredSenders,
  records: (rows) =>
    rows.map((row) => {
      const { id, number, link_id: linkId, definition } = row;
      return senderRecord({ id: encodeId("snd", id), source: "api", number, link_id: encodeId("lnk", linkId) }, definition, row);
    }),

  async create(write, { number, link_id: linkText, ...rest }, others) {
    requireCountries(rest.countries);
    const linkId = await findLink(write, linkText);
    if (others.some((each) => each.number === number && each.link_id.equals(linkId)))
      return new Problem("already_exists", {
        errors: [{ pointer: "/number", code: "taken", detail: "the link already has this sender" }],
      });
    const row = { ...write.stamps, link_id: linkId, number, definition: presentFields<SenderOptions>(rest) };
    return { row, changes: { link: linkText } };
  },

  async edit(_, request, { row }) {
    requireCountries(request.countries);
    const definition = presentFields<SenderOptions>({ ...row.definition, ...request });
    return { row: { ...row, definition, fault: undefined }, fields: Object.keys(request) };
  },

  write: writeSender,
  delete: deleteSender,
});

async function findLink({ tx, call }: SetupWrite, text: string): Promise<LinkId> {
  const id = decodeId("lnk", text);
  const found = id === undefined ? undefined : (await readLinks(tx, call.credential.accountId)).find((each) => each.id.equals(id));
  if (found === undefined) throw unknownLink("/link_id");
  return found.id;
}

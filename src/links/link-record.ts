/** The state of links, as the API, the metrics and the failover read it: what the nodes reported within the last seconds. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import { decodeId, encodeId } from "../model/id.ts";
import { RECEIPT_IDS } from "../providers/provider.ts";
import type { SmppSettings } from "../providers/smpp/settings.ts";
import type { Queryable } from "../database/database.ts";
import { CHANNELS } from "./channel.ts";
import type { Link } from "./link.ts";
import type { Owner } from "../model/owner.ts";
import { publicReason, type Pauses } from "./pauses.ts";
import { sourceField, stampFields } from "./setup.ts";
import { LinkQuality, readQuality, sharedQuality } from "../quality/figures.ts";
import { countSending, readStates, type StateRow } from "./queries.ts";

/** A node that has reported nothing for this long is gone. */
const FRESH_MS = 10_000;

export const LINK_STATES = ["connected", "connecting", "throttled", "paused", "down"] as const;

const LINK_REASONS = [
  "carrier_unreachable",
  "carrier_throttles",
  "needs_account",
  "needs_operator",
  "no_node",
  "paused_by_request",
  "paused_by_operator",
] as const;
type LinkReason = (typeof LINK_REASONS)[number];

const REASONS: Readonly<Record<Exclude<(typeof LINK_STATES)[number], "paused">, LinkReason | null>> = {
  connected: null,
  connecting: "carrier_unreachable",
  throttled: "carrier_throttles",
  down: "no_node",
};

export const LinkRecord = Type.Object(
  {
    id: Type.String({
      examples: ["lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"],
      description: "The id of the link; its name for a link of the configuration file.",
    }),
    object: Type.Literal("link"),
    name: Type.String({ examples: ["Acme"], description: "The name of the link." }),
    source: sourceField,
    provider: Type.String({ examples: ["smpp"], description: "The kind of connection." }),
    carrier: nullable(Type.String({ examples: ["telnyx"], description: "The carrier, with the provider `http`." })),
    channels: Type.Array(openEnum(CHANNELS), { description: "The channels on which it sends." }),
    state: openEnum(LINK_STATES, "The state of the connection. `down`: no node has it open."),
    reason: nullable(openEnum(LINK_REASONS, "Why the state is not `connected`. The operator sees more with `godwit links`.")),
    reason_detail: nullable(Type.String({ description: "The message of the connection, for a link of the account." })),
    paused: Type.Boolean({ description: "Whether the link is paused: it sends nothing, and still receives." }),
    sender: nullable(Type.String({ description: "The default sender." })),
    country: nullable(Type.String({ examples: ["DE"], description: "The country whose national numbers the carrier may send." })),
    rate: nullable(Type.Number({ description: "The maximum number of parts per second, or of messages on channels without parts." })),
    prices: nullable(
      Type.Record(Type.Number(), {
        description: "The prices of a segment, by country or the beginning of a number. Null for links of the operator.",
      }),
    ),
    window: nullable(Type.Integer({ description: "The maximum number of submissions that wait for a response at the same time." })),
    in_flight: Type.Integer({ description: "The number of messages of this environment that are `sending` on the link." }),
    quality: nullable(LinkQuality),
    receipt_ids: nullable(
      openEnum(RECEIPT_IDS, "How receipts of an SMPP link write the ids of its responses. `auto`: in any of the other forms."),
    ),
    settings: nullable(
      Type.Unsafe<Readonly<Record<string, unknown>>>({
        type: "object",
        additionalProperties: true,
        description: "The settings, without secrets. Null for a link of the configuration file.",
      }),
    ),
    secrets: Type.Array(Type.String({ examples: ["password"] }), { description: "The names of the secrets that are set." }),
    callback_path: nullable(
      Type.String({
        examples: ["/providers/twilio/lnk_01k9zs3v8mf4tb2xg1qj6n0d5c"],
        description:
          "The path to which the carrier sends receipts and inbound messages, on the public URL of this service. Null if the carrier does not call.",
      }),
    ),
    last_error: nullable(Type.String({ description: "The last error. Null for links of the operator." })),
    last_error_at: nullable(timestamp("The time of the last error. Null for links of the operator.")),
    nodes: Type.Array(Type.String(), { description: "Only for the operator; empty here." }),
    ...stampFields("link"),
  },
  { title: "Link", description: "A configured connection to a carrier." },
);
export type LinkRecord = Static<typeof LinkRecord>;

/** A link as the operator sees it, with the texts of carriers, the names of nodes, and the messages of all accounts. */
export type LinkReport = ReturnType<typeof linkReport>;

/** The fields that an account has given to a link that it created. */
export type CreatedDetails = Pick<
  LinkRecord,
  "name" | "carrier" | "prices" | "settings" | "secrets" | "created_at" | "updated_at" | "created_by"
>;

/** The links that at least one node has open and that accept messages. */
export async function readUpLinks(db: Queryable, nowMs: number): Promise<ReadonlySet<string>> {
  const states = await readStates(db, nowMs - FRESH_MS);
  return new Set(states.filter(({ state }) => UP.has(state)).map(({ link }) => link));
}

/** The links of a configuration file that nodes have open and that `links` lacks: these settings are not those of the nodes. */
export async function readOtherLinks(db: Queryable, links: readonly Pick<Link, "name">[], nowMs: number): Promise<string[]> {
  const known = new Set(links.map(({ name }) => name));
  const open = new Set((await readStates(db, nowMs - FRESH_MS)).map(({ link }) => link));
  return [...open].filter((name) => !known.has(name) && decodeId("lnk", name) === undefined);
}

/** Lists links for the operator. */
export async function listLinks(db: Queryable, links: readonly Link[], nowMs: number): Promise<LinkReport[]> {
  const states = await readStates(db, nowMs - FRESH_MS);
  return links.map((link) => linkReport(link, states));
}

/** `details`: of the links that the account has created, by their names. */
type Setups = { details: ReadonlyMap<string, CreatedDetails>; pauses: Pauses };

/** Lists links for an account: nothing of other accounts, of the operator's nodes, or of the texts that carriers sent to the operator. */
export async function listLinksFor(
  owner: Owner,
  db: Queryable,
  links: readonly Link[],
  { nowMs, details, pauses }: Setups & { nowMs: number },
): Promise<LinkRecord[]> {
  const names = links.map(({ name }) => name);
  const reports = await listLinks(db, links, nowMs);
  const sending = await countSending(db, owner, names, nowMs);
  const qualities = await readQuality(db, names, nowMs);
  return reports.map((each, index) => {
    const { account: _, ...report } = each;
    const link = links[index];
    const own = details.get(report.name);
    const pause = pauses.get(report.name);
    const quality = qualities.get(report.name) ?? null;
    const state = pause === undefined ? report.state : "paused";
    return {
      ...report,
      ...(own === undefined ? OF_FILE : { ...own, source: "api" as const }),
      id: report.name,
      name: own?.name ?? report.name,
      state,
      reason: state === "paused" ? publicReason(pause ?? CARRIERS_PAUSE, own !== undefined) : REASONS[state],
      reason_detail: own === undefined ? null : (pause?.detail ?? detailOf(report)),
      paused: pause !== undefined,
      country: link?.country ?? null,
      in_flight: sending.get(report.name) ?? 0,
      quality: own === undefined && quality !== null ? sharedQuality(quality) : quality,
      callback_path: callbackPath(report),
      last_error: own === undefined ? null : report.last_error,
      last_error_at: own === undefined ? null : report.last_error_at,
      nodes: [],
    };
  });
}

/** Whether a port is open, closed or filtered is not shown to accounts: a link is no port scanner. Its test tells more, and is limited. */
const detailOf = ({ state, reason }: Pick<LinkReport, "state" | "reason">): string | null =>
  state === "connecting" ? "the carrier has not accepted a connection: test the link" : reason;

/** The path that the carrier calls. A link over SMPP has a connection of its own. */
export const callbackPath = ({ name, provider }: Pick<Link, "name"> & { provider: string }): string | null =>
  provider === "smpp" || provider === "simulator" ? null : `/providers/${provider}/${name}`;

/** The pause of a connection that its carrier refuses: a node reports it with the state. */
const CARRIERS_PAUSE = { kind: "carrier" } as const;

const OF_FILE = {
  source: "file",
  carrier: null,
  prices: null,
  settings: null,
  secrets: [],
  created_at: null,
  updated_at: null,
  created_by: null,
} as const satisfies Partial<LinkRecord>;

export const UP: ReadonlySet<string> = new Set(["connected", "throttled"]);

/** The states of a link, best first. */
const RANK = ["connected", "throttled", "connecting", "paused"];

/** Combines the reports of all nodes. The best state counts, since one node with a working connection is enough. */
function linkReport({ name, provider, channels, sender, settings, accountId }: Link, states: readonly StateRow[]) {
  const own = states.filter(({ link }) => link === name).toSorted((a, b) => RANK.indexOf(a.state) - RANK.indexOf(b.state));
  const [best] = own;
  const last = own.toSorted((a, b) => (b.last_error_at?.getTime() ?? 0) - (a.last_error_at?.getTime() ?? 0))[0];
  const { partsPerSecond = null, messagesPerSecond = null, window = null } = settings as Record<string, number | null>;
  return {
    name,
    object: "link" as const,
    provider,
    channels: [...channels],
    state: (best?.state ?? "down") as LinkRecord["state"],
    reason: best?.reason ?? null,
    sender,
    rate: partsPerSecond ?? messagesPerSecond,
    window,
    in_flight: own.reduce((sum, { in_flight: count }) => sum + count, 0),
    receipt_ids: provider === "smpp" ? ((settings as SmppSettings).receiptIds ?? "auto") : null,
    last_error: last?.last_error ?? null,
    last_error_at: last?.last_error_at?.toISOString() ?? null,
    nodes: own.map(({ node }) => node),
    account: accountId && encodeId("acct", accountId),
  };
}

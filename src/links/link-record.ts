/** The state of links, as the API, the metrics and the failover read it: what the nodes reported within the last seconds. */
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import type { Queryable } from "../storage/database.ts";
import { CHANNELS } from "./channel.ts";
import type { Link } from "./link.ts";
import type { Owner } from "../storage/owner.ts";
import { countSending, readStates, type StateRow } from "./queries.ts";

/** A node that has reported nothing for this long is gone. */
const FRESH_MS = 10_000;

export const LINK_STATES = ["connected", "connecting", "throttled", "paused", "down"] as const;

const LINK_REASONS = ["carrier_unreachable", "carrier_throttles", "needs_operator", "no_node"] as const;

const REASONS: Readonly<Record<(typeof LINK_STATES)[number], (typeof LINK_REASONS)[number] | null>> = {
  connected: null,
  connecting: "carrier_unreachable",
  throttled: "carrier_throttles",
  paused: "needs_operator",
  down: "no_node",
};

export const LinkRecord = Type.Object(
  {
    name: Type.String({ examples: ["acme"] }),
    object: Type.Literal("link"),
    provider: Type.String({ examples: ["smpp"] }),
    channels: Type.Array(openEnum(CHANNELS)),
    state: openEnum(LINK_STATES, "`down`: no node has it open."),
    reason: nullable(openEnum(LINK_REASONS, "Why it is not simply connected. The operator sees more with `godwit links`.")),
    sender: nullable(Type.String()),
    rate: nullable(Type.Number({ description: "Parts, or messages, a second." })),
    window: nullable(Type.Integer({ description: "How many may be without an answer at one time." })),
    in_flight: Type.Integer({ description: "Messages of this environment that are `sending` on it." }),
    last_error: nullable(Type.String({ description: "For the operator alone; null here." })),
    last_error_at: nullable(timestamp("For the operator alone; null here.")),
    nodes: Type.Array(Type.String(), { description: "For the operator alone; empty here." }),
  },
  { title: "Link", description: "A configured connection to a carrier." },
);
export type LinkRecord = Static<typeof LinkRecord>;

/** A link as the operator sees it, with the texts of carriers, the names of nodes, and the messages of all accounts. */
export type LinkReport = Omit<LinkRecord, "reason"> & { reason: string | null };

/** The links that at least one node has open and that accept messages. */
export async function readUpLinks(db: Queryable, nowMs: number): Promise<ReadonlySet<string>> {
  const states = await readStates(db, nowMs - FRESH_MS);
  return new Set(states.filter(({ state }) => UP.has(state)).map(({ link }) => link));
}

/** Lists links for the operator. */
export async function listLinks(db: Queryable, links: readonly Link[], nowMs: number): Promise<LinkReport[]> {
  const states = await readStates(db, nowMs - FRESH_MS);
  return links.map((link) => linkReport(link, states));
}

/** Lists links for an account: nothing of other accounts, of the operator's nodes, or of the carrier's texts. */
export async function listLinksFor(owner: Owner, db: Queryable, links: readonly Link[], nowMs: number): Promise<LinkRecord[]> {
  const names = links.map(({ name }) => name);
  const [reports, sending] = await Promise.all([listLinks(db, links, nowMs), countSending(db, owner, names, nowMs)]);
  return reports.map((report) => ({
    ...report,
    reason: REASONS[report.state],
    in_flight: sending.get(report.name) ?? 0,
    last_error: null,
    last_error_at: null,
    nodes: [],
  }));
}

const UP: ReadonlySet<string> = new Set(["connected", "throttled"]);

/** The states of a link, best first. */
const RANK = ["connected", "throttled", "connecting", "paused"];

/** Combines the reports of all nodes. The best state counts, since one node with a working connection is enough. */
function linkReport({ name, provider, channels, sender, settings }: Link, states: readonly StateRow[]): LinkReport {
  const own = states.filter(({ link }) => link === name).toSorted((a, b) => RANK.indexOf(a.state) - RANK.indexOf(b.state));
  const [best] = own;
  const last = own.toSorted((a, b) => (b.last_error_at?.getTime() ?? 0) - (a.last_error_at?.getTime() ?? 0))[0];
  const { partsPerSecond = null, messagesPerSecond = null, window = null } = settings as Record<string, number | null>;
  return {
    name,
    object: "link",
    provider,
    channels: [...channels],
    state: (best?.state ?? "down") as LinkRecord["state"],
    reason: best?.reason ?? null,
    sender,
    rate: partsPerSecond ?? messagesPerSecond,
    window,
    in_flight: own.reduce((sum, { in_flight: count }) => sum + count, 0),
    last_error: last?.last_error ?? null,
    last_error_at: last?.last_error_at?.toISOString() ?? null,
    nodes: own.map(({ node }) => node),
  };
}

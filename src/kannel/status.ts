/** The status pages of Kannel's bearerbox, in the forms that monitoring scripts read: the counts of an environment and its links. */
import type { Credential } from "../access/authenticate.ts";
import type { RouteResponse } from "../api/route.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database } from "../database/database.ts";
import type { LinkRecord } from "../links/link-record.ts";
import { LINKS } from "../links/link-setup.ts";
import type { SetupContext } from "../links/setup.ts";
import { readDepth, readUsage, type UsageRow } from "../usage/queries.ts";
import { VERSION } from "../version.ts";
import { escapeHtml } from "./answers.ts";

export const STATUS_FORMS = ["txt", "html", "xml"] as const;
export type StatusForm = (typeof STATUS_FORMS)[number];

type StatusParts = { db: Database; clock: Clock; setup: SetupContext };

const MINUTE_MS = 60_000;
const HOUR_MS = 3_600_000;
// A month has at most 31 days, with some statuses and codes for each.
const MAX_ROWS = 10_000;

/** A total since the beginning of the month, and the rates of the last minute, the last five minutes and the month, by second. */
type Counter = { total: number; rates: readonly [number, number, number] };

type Facts = {
  uptimeSeconds: number;
  queued: number;
  stored: number;
  received: Counter;
  sent: Counter;
  reports: Counter;
  links: readonly ShownLink[];
};

type ShownLink = { id: string; name: string; state: string; inFlight: number };

export async function statusPage(parts: StatusParts, credential: Credential, form: StatusForm): Promise<RouteResponse> {
  const facts = await readFacts(parts, credential);
  if (form === "xml")
    return { status: 200, contentType: "text/xml", body: `<?xml version="1.0"?>\n<gateway>\n${asXml(facts)}</gateway>\n` };
  if (form === "html") return { status: 200, contentType: "text/html", body: `${HTML_HEAD}${asHtml(facts)}</body></html>\n` };
  return { status: 200, contentType: "text/plain", body: asText(facts) };
}

const RECEIVED: ReadonlySet<string> = new Set(["received"]);
const SENT: ReadonlySet<string> = new Set(["sent", "delivered", "read", "undelivered"]);
const REPORTED: ReadonlySet<string> = new Set(["delivered", "read", "undelivered"]);

async function readFacts({ db, clock, setup }: StatusParts, credential: Credential): Promise<Facts> {
  const { accountId, environment } = credential;
  const nowMs = clock.now();
  const month = new Date(nowMs);
  const monthMs = Date.UTC(month.getUTCFullYear(), month.getUTCMonth());
  const ofMonth = { fromMs: monthMs, toMs: Math.ceil((nowMs + 1) / HOUR_MS) * HOUR_MS, interval: "day" } as const;
  const endMs = Math.floor(nowMs / MINUTE_MS) * MINUTE_MS;
  const ofMinutes = { fromMs: endMs - 5 * MINUTE_MS, toMs: endMs, interval: "minute" } as const;
  const [total, recent, depth, links] = await Promise.all([
    readUsage(db, accountId, environment, { ...ofMonth, channel: "sms" }, MAX_ROWS),
    readUsage(db, accountId, environment, { ...ofMinutes, channel: "sms" }, MAX_ROWS),
    readDepth(db, accountId, environment),
    environment === "live" ? LINKS.list(setup, credential) : [],
  ]);
  const counter = (statuses: ReadonlySet<string>): Counter => {
    const sum = count(total, statuses);
    const lastMinute = recent.filter(({ start }) => start.getTime() >= endMs - MINUTE_MS);
    return {
      total: sum,
      rates: [count(lastMinute, statuses) / 60, count(recent, statuses) / 300, sum / Math.max(1, (nowMs - monthMs) / 1_000)],
    };
  };
  return {
    uptimeSeconds: Math.floor(process.uptime()),
    queued: depth.queued + depth.sending,
    stored: depth.queued + depth.sending + depth.scheduled,
    received: counter(RECEIVED),
    sent: counter(SENT),
    reports: counter(REPORTED),
    links: environment === "live" ? links.filter(({ channels }) => channels.includes("sms")).map(shownLink) : [SIMULATOR],
  };
}

const count = (rows: readonly UsageRow[], statuses: ReadonlySet<string>): number =>
  rows.reduce((sum, { status, messages }) => (statuses.has(status) ? sum + messages : sum), 0);

const SIMULATOR: ShownLink = { id: "simulator", name: "simulator", state: "connected", inFlight: 0 };

const shownLink = ({ id, name, state, in_flight: inFlight }: LinkRecord): ShownLink => ({ id, name, state, inFlight });

/** Kannel's words for the states of a connection. */
function wordOf(state: string, uptimeSeconds: number): string {
  if (state === "connected" || state === "throttled") return `online ${uptimeSeconds}s`;
  if (state === "connecting") return "re-connecting";
  return state === "paused" ? "disconnected" : "dead";
}

const uptimeText = (seconds: number): string =>
  `${Math.floor(seconds / 86_400)}d ${Math.floor(seconds / 3_600) % 24}h ${Math.floor(seconds / 60) % 60}m ${seconds % 60}s`;

const ratesText = ({ rates }: Counter): string => rates.map((rate) => rate.toFixed(2)).join(",");
const NO_RATES = "0.00,0.00,0.00";

const PRODUCT = `Godwit bearerbox version \`${VERSION}'.`;

/** The same lines in text and HTML. Scripts search them by regular expressions, so their words and spaces are those of Kannel. */
function linesOf({ uptimeSeconds, queued, stored, received, sent, reports, links }: Facts): string[][] {
  return [
    [PRODUCT],
    [`Status: running, uptime ${uptimeText(uptimeSeconds)}`],
    ["WDP: received 0 (0 queued), sent 0 (0 queued)"],
    [
      `SMS: received ${received.total} (0 queued), sent ${sent.total} (${queued} queued), store size ${stored}`,
      `SMS: inbound (${ratesText(received)}) msg/sec, outbound (${ratesText(sent)}) msg/sec`,
    ],
    [
      `DLR: received ${reports.total}, sent 0`,
      `DLR: inbound (${ratesText(reports)}) msg/sec, outbound (${NO_RATES}) msg/sec`,
      "DLR: 0 queued, using internal storage",
    ],
    ["Box connections:", `    smsbox:godwit, IP 127.0.0.1 (0 queued), (on-line ${uptimeText(uptimeSeconds)})  `],
    links.length === 0 ? ["No SMSC connections"] : ["SMSC connections:", ...links.map((link) => linkLine(link, uptimeSeconds))],
  ];
}

const linkLine = ({ id, name, state, inFlight }: ShownLink, uptimeSeconds: number): string =>
  `    ${id}[${id}]    ${name} (${wordOf(state, uptimeSeconds)}, rcvd: sms 0 (${NO_RATES}) / dlr 0 (${NO_RATES}), ` +
  `sent: sms 0 (${NO_RATES}) / dlr 0 (${NO_RATES}), failed 0, queued ${inFlight} msgs)`;

const asText = (facts: Facts): string =>
  `${linesOf(facts)
    .map((lines) => lines.join("\n"))
    .join("\n\n")}\n\n`;

const HTML_HEAD = "<!DOCTYPE html>\n<html><head><title>Godwit</title></head><body>\n";

const asHtml = (facts: Facts): string =>
  linesOf(facts)
    .map((lines) => ` <p>${lines.map((line) => escapeHtml(line).replace(/^ {4}/, "&nbsp;&nbsp;&nbsp;&nbsp;")).join("<br>\n ")}</p>\n\n`)
    .join("");

function asXml({ uptimeSeconds, queued, stored, received, sent, reports, links }: Facts): string {
  const uptime = uptimeText(uptimeSeconds);
  return (
    `<version>${escapeHtml(PRODUCT)}</version>\n<status>running, uptime ${uptime}</status>\n` +
    "\t<wdp>\n\t\t<received><total>0</total><queued>0</queued></received>\n\t\t<sent><total>0</total><queued>0</queued></sent>\n\t</wdp>\n" +
    `\t<sms>\n\t\t<received><total>${received.total}</total><queued>0</queued></received>\n` +
    `\t\t<sent><total>${sent.total}</total><queued>${queued}</queued></sent>\n\t\t<storesize>${stored}</storesize>\n` +
    `\t\t<inbound>${ratesText(received)}</inbound>\n\t\t<outbound>${ratesText(sent)}</outbound>\n\t\t</sms>\n` +
    `\t<dlr>\n\t\t<received><total>${reports.total}</total></received>\n\t\t<sent><total>0</total></sent>\n` +
    `\t\t<inbound>${ratesText(reports)}</inbound>\n\t\t<outbound>${NO_RATES}</outbound>\n\t\t<queued>0</queued>\n` +
    "\t\t<storage>internal</storage>\n\t</dlr>\n" +
    "<boxes>\n\t<box>\n\t\t<type>smsbox</type>\n\t\t<id>godwit</id>\n\t\t<IP>127.0.0.1</IP>\n\t\t<queue>0</queue>\n" +
    `\t\t<status>on-line ${uptime}</status>\n\t\t<ssl>no</ssl>\n\t</box></boxes>\n` +
    `<smscs><count>${links.length}</count>\n\t${links.map((link) => linkXml(link, uptimeSeconds)).join("")}</smscs>\n`
  );
}

const COUNTS_XML = `\n\t\t\t<received>0</received>\n\t\t\t<sent>0</sent>\n\t\t\t<inbound>${NO_RATES}</inbound>\n\t\t\t<outbound>${NO_RATES}</outbound>\n\t\t`;

const linkXml = ({ id, name, state, inFlight }: ShownLink, uptimeSeconds: number): string =>
  `<smsc>\n\t\t<name>${escapeHtml(name)}</name>\n\t\t<admin-id>${escapeHtml(id)}</admin-id>\n\t\t<id>${escapeHtml(id)}</id>\n` +
  `\t\t<status>${wordOf(state, uptimeSeconds)}</status>\n\t\t<failed>0</failed>\n\t\t<queued>${inFlight}</queued>\n` +
  `\t\t<sms>${COUNTS_XML}</sms>\n\t\t<dlr>${COUNTS_XML}</dlr>\n\t</smsc>\n`;

/** Checks of the links for `godwit doctor`: whether their hosts can be reached from here, and the state that the nodes report. Doctor
 *  never binds to a carrier: an additional bind could end the connection of a running service. */
import { parseBoundedUrl } from "../lib/urls.ts";
import { causeOf } from "../outbound/failure.ts";
import { reach, targetOf, type SocketTarget } from "../outbound/open-socket.ts";
import { encodeId } from "../model/id.ts";
import { readHold, type Hold } from "../links/hold.ts";
import type { Link } from "../links/link.ts";
import { cannotBeOpened, HOLD, readPauses } from "../links/pauses.ts";
import { readStoredRoutes, readStoredSenders } from "../links/stored-rules.ts";
import { readAllLinks } from "../links/stored-link.ts";
import type { ConfiguredCarrier } from "../providers/http/carrier.ts";
import type { CarrierDefinition } from "../providers/http/definition.ts";
import { listLinks, UP, type LinkReport } from "../links/link-record.ts";
import type { ReadDatabase } from "./check-database.ts";
import { END_HOLD, errorMessage, fail, mapConcurrently, ok, runCheck, warn, type Check } from "./check.ts";

const REACH_MS = 5_000;
const CONCURRENCY = 8;
const MAX_LINKS = 40;
const MAX_SHOWN = 5;
const CONNECT_CARRIER =
  "connect a carrier before you go live: in the console under Carriers, with godwit links add, or with godwit init --carrier NAME (docs/go-live.md)";

export async function checkLinks(links: readonly Link[], database: ReadDatabase | undefined): Promise<Check[]> {
  const unused = database === undefined ? [] : [await runCheck("created links", () => checkUnused(database))];
  const faults = unused.filter(({ status }) => status !== "ok");
  if (links.length === 0) return [await runCheck("links", () => checkCreatedLinks(database)), ...faults];
  const shown = links.slice(0, MAX_LINKS);
  const records = await readRecords(links, database);
  // The check of delivery reports a failure.
  const hold = database && (await readHold(database.db, database.clock.now()).catch(() => undefined));
  const checks = await mapConcurrently(shown, CONCURRENCY, async (link) => {
    const address = linkAddress(link);
    const failure = address === undefined ? undefined : await reach(address, REACH_MS);
    return toCheck(
      link,
      address,
      failure && (failure.message || causeOf(failure)),
      Array.isArray(records) ? records.find(({ name }) => name === link.name) : undefined,
      hold,
    );
  });
  checks.push(...shown.flatMap(warningsOf), ...faults);
  if (database !== undefined && Array.isArray(records) && (await areAllRefused(database, records))) checks.push(ALL_REFUSED);
  if (typeof records === "string")
    checks.push(warn("links", `their states are unknown: ${records}`, "correct the problem of the database first"));
  if (links.length > MAX_LINKS)
    checks.push(warn("links", `${links.length - MAX_LINKS} more were not checked`, "list them with godwit links"));
  return checks;
}

/** The links, senders and routes of accounts that are not in use, because they cannot be read or opened. */
async function checkUnused({ db, clock }: ReadDatabase): Promise<Check> {
  const { links, faults } = await readAllLinks(db);
  const reports = await listLinks(db, links, clock.now());
  const problems = [
    ...reports.flatMap(({ name, reason }) => {
      const fault = faults.get(name) ?? (reason?.startsWith(cannotBeOpened("")) === true ? reason : undefined);
      return fault === undefined ? [] : [`${name}: ${fault}`];
    }),
    ...(await readStoredSenders(db, null)).flatMap(({ id, fault }) => (fault === undefined ? [] : [`${encodeId("snd", id)}: ${fault}`])),
    ...(await readStoredRoutes(db, null)).flatMap(({ id, fault }) => (fault === undefined ? [] : [`${encodeId("rte", id)}: ${fault}`])),
  ];
  if (problems.length === 0) return ok("created links", "all of them can be read and opened");
  const rest = problems.length > MAX_SHOWN ? `; and ${problems.length - MAX_SHOWN} more` : "";
  return warn(
    "created links",
    `not in use: ${problems.slice(0, MAX_SHOWN).join("; ")}${rest}`,
    "ask their accounts to change or to delete them",
  );
}

/** The configuration file has no links. Accounts may have created some. */
async function checkCreatedLinks(database: ReadDatabase | undefined): Promise<Check> {
  const created = database === undefined ? [] : (await readAllLinks(database.db)).links;
  if (database === undefined || created.length === 0)
    return warn("links", "there is no link: live cannot send messages, and test uses the simulator", CONNECT_CARRIER);
  if (await areAllRefused(database, await listLinks(database.db, created, database.clock.now()))) return ALL_REFUSED;
  return ok("links", `none in the configuration file; accounts have created ${created.length}, which godwit links lists`);
}

const ALL_REFUSED = fail(
  "links",
  "no link can send: the carriers refuse all of them",
  "check the account and password of each link at its carrier, and the reason in godwit links",
);

/** Whether there are links that send, and the carrier of each refuses it. A link that a person or a hold has paused is not refused. */
async function areAllRefused({ db, clock }: ReadDatabase, reports: readonly LinkReport[]): Promise<boolean> {
  const pauses = await readPauses(db, clock.now());
  const sending = reports.filter(({ channels, provider }) => channels.length > 0 && provider !== "simulator");
  const isRefused = ({ name, state, reason }: LinkReport): boolean =>
    state === "paused" && (pauses.get(name)?.kind ?? "carrier") === "carrier" && reason?.startsWith(cannotBeOpened("")) !== true;
  return !pauses.has(HOLD) && sending.length > 0 && sending.every(isRefused);
}

async function readRecords(links: readonly Link[], database: ReadDatabase | undefined): Promise<LinkReport[] | string | undefined> {
  if (database === undefined) return undefined;
  try {
    return await listLinks(database.db, links, database.clock.now());
  } catch (error) {
    return errorMessage(error);
  }
}

/** Returns the address of the link's carrier. Undefined for the simulator, which has none. */
function linkAddress({ provider, settings }: Link): SocketTarget | undefined {
  if (provider === "simulator") return undefined;
  const { host, port, tls, tlsServerName, tlsCa, baseUrl } = settings as Record<string, string | number | boolean | null | undefined>;
  if (typeof host === "string")
    return {
      host,
      port: Number(port),
      isTls: tls === true,
      serverName: typeof tlsServerName === "string" ? tlsServerName : null,
      ca: typeof tlsCa === "string" ? tlsCa : null,
    };
  const url = parseBoundedUrl(String(baseUrl));
  // An invalid URL becomes an address that cannot be reached, and the check reports it.
  if (url === null) return { host: String(baseUrl), port: 0, isTls: false };
  return targetOf(url);
}

/** Warns about settings of a link that work, and are not safe. */
function warningsOf(link: Link): Check[] {
  const { allowPlaintext, definition } = link.settings as Partial<ConfiguredCarrier> & { allowPlaintext?: boolean };
  const warnings: Check[] = [];
  const warnOf = (subject: string, detail: string, hint: string) => warnings.push(warn(`link ${link.name} ${subject}`, detail, hint));
  // Whether or not the link does without TLS at present.
  if (allowPlaintext === true)
    warnOf("transport", "allow_plaintext is set: passwords and messages may travel in clear text", "use TLS, and remove allow_plaintext");
  if (definition?.callbacks?.verification.type === "none")
    warnOf(
      "callbacks",
      "callbacks are not verified: anyone who knows the URL can report receipts and inbound messages",
      "set a verification, at least of type query-token",
    );
  if (link.country === null && mayWriteNationalNumbers(link))
    warnOf(
      "country",
      "country is not set: a STOP from a number in national format would not be matched with its recipient",
      'set country = "US", or the country of the carrier',
    );
  return warnings;
}

/** Twilio and WhatsApp write international numbers only. */
function mayWriteNationalNumbers({ provider, settings }: Link): boolean {
  const { inbound = [] }: Partial<CarrierDefinition> = (settings as Partial<ConfiguredCarrier>).definition ?? {};
  return provider === "smpp" || [inbound].flat().some(({ number_type: type }) => type !== "international");
}

function toCheck(
  { name: link, provider }: Link,
  address: SocketTarget | undefined,
  problem: string | undefined,
  record: LinkReport | undefined,
  hold: Hold | undefined,
): Check {
  const name = `link ${link}`;
  const location = address === undefined ? provider : `${provider} at ${address.host}:${address.port}${address.isTls ? " with TLS" : ""}`;
  const isUp = record !== undefined && UP.has(record.state);
  const says = record === undefined ? "" : record.state === "down" ? "; no node has it open" : `; a node reports: ${describeState(record)}`;
  if (problem !== undefined && !isUp)
    return fail(
      name,
      `${location} cannot be reached: ${problem}${says}`,
      "check the address, the firewall, and whether the carrier permits the address of this machine",
    );
  if (problem !== undefined)
    return warn(name, `${location} cannot be reached from here: ${problem}${says}`, "ignore this if this machine opens no links");
  if (record === undefined || isUp) return ok(name, `${location}${address === undefined ? "" : " can be reached"}${says}`);
  return warn(name, `${location}${address === undefined ? "" : " can be reached"}${says}`, nextStep(record, hold));
}

function nextStep({ state, reason }: LinkReport, hold: Hold | undefined): string {
  if (state === "down") return "start a node with the role dispatch";
  return hold !== undefined && reason === hold.reason
    ? END_HOLD
    : "check its account and password at the carrier, and the log of the service";
}

const describeState = ({ state, reason: why, last_error: error }: LinkReport): string =>
  [state, why, error === null ? null : `last error: ${error}`].filter((part) => part !== null).join(", ");

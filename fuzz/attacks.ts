/** Attacks on a service by strangers, by accounts, and by hosts that an account names. All of them use loopback. */
import { randomUUID } from "node:crypto";
import { graphCall, graphSignature } from "../test/support/fakes/graph.ts";
import { call, callAsAccount, head, hold, JSON_TYPE, repeat, type Running, type Target } from "./attack-client.ts";
import { expensiveTls, floodKeys, floodMessages, floodRequests, floodResponses, hostileRows, manyHeaders } from "./attack-peers.ts";
import { LINK } from "./service.ts";

export type Attack = {
  name: string;
  /** Whose memory is limited. */
  by: "strangers" | "account";
  /** The service has a certificate. */
  onTls?: true;
  /** The attack starts nodes, which use the processors, so that the p99 is not judged. */
  startsNodes?: true;
  begin: (target: Target) => Running | Promise<Running>;
};

const createLink = (target: Target, url: string): Promise<unknown> =>
  callAsAccount(target, "POST", "/v1/links", {
    provider: "twilio",
    name: "attack",
    settings: { account_sid: `AC${"0".repeat(32)}`, auth_token: "x", base_url: url, public_url: "https://godwit.example" },
  });

const SLASHES = `https://carrier.example${"/".repeat(60_000)}a`;
const IDEOGRAPHS = `https://${"漢".repeat(5_000)}.example`;
// 64 kB.
const PIPELINE = "GET /a HTTP/1.1\r\nhost: a\r\n\r\n".repeat(2_427);
// 15 kB. Node keeps each header as two strings.
const HEADERS = Object.fromEntries(Array.from({ length: 96 }, (_, at) => [`x${at}`, "y".repeat(150)]));
// Eight requests whose responses are delayed.
const FAILURES = head("GET", "/v1/messages", { ...HEADERS, authorization: "Bearer gw_test_unknown" }).repeat(8);
// Its last line is missing.
const OPEN_HEAD = head("GET", "/v1/messages", HEADERS).slice(0, -2);
const MEBIBYTE = String(1_048_576);
const CALLBACK = `/providers/whatsapp/${LINK}-whatsapp`;

/** The keys of all attackers in turn. */
const keyOf = ({ attackers }: Target, index: number): string => {
  const keys = attackers.flatMap(({ test, live }) => [test, live]);
  return keys[index % keys.length] ?? "";
};

const UNREAD_MESSAGES = 100;

/** Stores the messages of the list that the attackers read. */
export async function storeMessages(target: Target): Promise<void> {
  const headers = { authorization: `Bearer ${target.attackers[0]?.test}` };
  const body = JSON.stringify({ recipient: "+14155550123", channel: "sms", body: "x".repeat(1_500) });
  for (let count = 0; count < UNREAD_MESSAGES; count += 1) await call(target, { path: "/v1/messages", body, headers });
}

/** 100 connections with 20 lists of one account each. */
function unreadLists(target: Target): Running {
  const list = head("GET", `/v1/messages?limit=${UNREAD_MESSAGES}`, { authorization: `Bearer ${target.attackers[0]?.test}` });
  return hold(target, 100, () => list.repeat(20));
}

const unreadPages = (target: Target): Running => hold(target, 60, () => head("GET", "/openapi.json").repeat(20));

/** A ligature that NFKC expands to 18 characters. */
function expandingSenders(target: Target): Running {
  const from = "\uFDFA".repeat(300);
  const text = (id: string): object => ({ from, id, timestamp: "1", type: "text", text: { body: "x" } });
  return repeat(async () => {
    const body = graphCall({ messages: Array.from({ length: 900 }, (_, at) => text(`wamid.${randomUUID()}-${at}`)) });
    const { status } = await call(target, { path: CALLBACK, body, headers: { "x-hub-signature-256": graphSignature(body) } });
    // A carrier may be refused when others want their turns.
    if (status !== 200 && status !== 503) throw new Error(`the callback got ${String(status)}`);
  });
}

/** One connection with a body of 2 MB in chunks of one byte. */
function smallChunks(target: Target, path: string, headers: Record<string, string>): Running {
  const all = { "transfer-encoding": "chunked", "idempotency-key": randomUUID(), ...headers };
  const body = Buffer.from(`${head("POST", path, all)}${"1\r\n \r\n".repeat(2_000_000)}0\r\n\r\n`);
  return hold(target, 1, () => body);
}

const unknownParameters = (target: Target, count: number): Running => {
  const query = Array.from({ length: count }, (_, at) => `a${at}=1`).join("&");
  return hold(target, 1, () => head("GET", `/v1/messages?${query}`, { authorization: `Bearer ${keyOf(target, 0)}` }).repeat(8));
};

export const ATTACKS: readonly Attack[] = [
  { name: "a host with an expensive TLS handshake", by: "account", begin: expensiveTls },
  { name: "a host that requires new TLS keys without end", by: "account", begin: floodKeys },
  { name: "a link whose URL has 60,000 slashes", by: "account", begin: (target) => repeat(() => createLink(target, SLASHES)) },
  { name: "a link whose host has 5,000 ideographs", by: "account", begin: (target) => repeat(() => createLink(target, IDEOGRAPHS)) },
  { name: "a signed callback with 900 senders of U+FDFA", by: "account", begin: expandingSenders },
  { name: "an SMSC that floods requests", by: "account", begin: floodRequests },
  { name: "an SMSC that floods messages", by: "account", begin: floodMessages },
  { name: "64 kB of pipelined requests on a connection", by: "strangers", begin: (target) => hold(target, 1, () => PIPELINE) },
  { name: "pipelined requests on 20 connections", by: "strangers", begin: (target) => hold(target, 20, () => PIPELINE) },
  { name: "100 connections that read no list", by: "account", begin: unreadLists },
  { name: "60 connections that read no page", by: "strangers", begin: unreadPages },
  {
    name: "16 bodies of 1 MiB that are declared and never sent",
    by: "strangers",
    begin: (target) => hold(target, 16, () => head("POST", CALLBACK, { ...JSON_TYPE, "content-length": MEBIBYTE })),
  },
  {
    name: "2,450 bodies for the token route that never end",
    by: "strangers",
    begin: (target) =>
      hold(target, 2_450, () =>
        head("POST", "/v1/oauth/token", { "content-type": "application/x-www-form-urlencoded", "content-length": "16000" }),
      ),
  },
  {
    name: "180 chunked bodies of each of four environments that never begin",
    by: "account",
    begin: (target) =>
      hold(target, 720, (index) =>
        head("POST", "/v1/batches", {
          ...JSON_TYPE,
          authorization: `Bearer ${keyOf(target, index)}`,
          "idempotency-key": randomUUID(),
          "transfer-encoding": "chunked",
        }),
      ),
  },
  {
    name: "eight requests with an unknown key on each of 480 connections",
    by: "strangers",
    begin: (target) => hold(target, 480, () => FAILURES),
  },
  { name: "9,800 heads that never end", by: "strangers", begin: (target) => hold(target, 9_800, () => OPEN_HEAD) },
  { name: "a callback in chunks of one byte", by: "strangers", begin: (target) => smallChunks(target, CALLBACK, JSON_TYPE) },
  {
    name: "a batch in chunks of one byte",
    by: "account",
    begin: (target) => smallChunks(target, "/v1/batches", { ...JSON_TYPE, authorization: `Bearer ${keyOf(target, 0)}` }),
  },
  {
    name: "a refused message in chunks of one byte",
    by: "account",
    begin: (target) => smallChunks(target, "/v1/messages", { "content-type": "text/x", authorization: `Bearer ${keyOf(target, 0)}` }),
  },
  { name: "eight lists with 200 unknown parameters each", by: "account", begin: (target) => unknownParameters(target, 200) },
  { name: "an SMSC that floods responses to no request", by: "account", begin: floodResponses },
  { name: "a webhook response with 200,000 headers", by: "account", begin: manyHeaders },
  // After all other attacks by links: the account has as many as it may have from then on.
  { name: "1,008 stored links that cannot be opened, and three starts", by: "account", startsNodes: true, begin: hostileRows },
  { name: "pipelined requests on 20 TLS connections", by: "strangers", onTls: true, begin: (target) => hold(target, 20, () => PIPELINE) },
  { name: "100 TLS connections that read no list", by: "account", onTls: true, begin: unreadLists },
  { name: "60 TLS connections that read no page", by: "strangers", onTls: true, begin: unreadPages },
];

/** bench/links: the rate of a link with a definition in TOML, beside that of the Twilio link.
 *
 *  Both links send the same messages to the same carrier, a process of its own that accepts everything, in turn. Only the links are
 *  measured, without the queue and the database, which are the same for both: the difference would be smaller with them.
 *
 *  npm run bench -- links [--rounds 10] [--seconds 3] [--window 50] */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { readPlan } from "../src/links/plan.ts";
import { createLog } from "../src/model/log.ts";
import { http, type HttpSettings } from "../src/providers/http/http.ts";
import type { Connection, Host, Outgoing } from "../src/providers/provider.ts";
import { twilio } from "../src/providers/twilio/twilio.ts";
import { machine, median, out, say, show } from "./godwit.ts";
import { children, runBenchmark } from "./run.ts";

const { values } = parseArgs({
  options: {
    rounds: { type: "string", default: "10" },
    seconds: { type: "string", default: "3" },
    window: { type: "string", default: "50" },
  },
});
const rounds = Number(values.rounds);
const seconds = Number(values.seconds);
const window = Number(values.window);

const LEAST_RATIO = 0.8;
const WARM_UP_SECONDS = 3;
const PARTS_PER_SECOND = 100_000;
const CALLBACK_URL = "https://godwit.example/providers/http/acme";

const nothing = async (): Promise<void> => undefined;
const HOST: Host = {
  receive: async () => [],
  receiveMessages: nothing,
  receivePreferences: nothing,
  receiveUnmatched: nothing,
  receiveReviews: nothing,
  templatesChanged: () => undefined,
  changed: () => undefined,
  now: () => Date.now(),
  log: createLog("silent").log,
};

const MESSAGE: Outgoing = {
  id: "msg_01k9zs3v8mf4tb2xg1qj6n0d5c",
  attempt: 1,
  channel: "sms",
  recipient: "+14155550123" as Outgoing["recipient"],
  sender: "+14155550100",
  body: "Your code is 123456. It is valid for ten minutes.",
  template: null,
  expiresAtMs: Date.now() + 86_400_000,
};

/** A definition with the same fields as Twilio's request, in JSON. */
function definedSettings(url: string): HttpSettings {
  const link = {
    name: "acme",
    provider: "http",
    public_url: "https://godwit.example",
    rate: 10_000,
    window,
    secrets: { token_env: "TOKEN" },
    request: {
      url: `${url}/v1/messages`,
      auth: { type: "basic", username: "acme", password: "{{secret.token}}" },
      body: {
        to: "{{recipient}}",
        from: "{{sender}}",
        text: "{{body}}",
        callback: "{{callback_url}}?reference={{id}}",
        ttl: "{{expires_seconds}}",
      },
    },
    response: { success: [201], id: "$.sid" },
  };
  const faults: string[] = [];
  const [defined] = readPlan({ link: [link] }, () => "token", faults).links;
  if (defined === undefined || faults.length > 0) throw new Error(faults.join("\n"));
  return { ...(defined.settings as HttpSettings), partsPerSecond: PARTS_PER_SECOND };
}

/** Keeps the window full for a time. Returns messages per second. */
async function rateOf(link: Connection, forSeconds: number): Promise<number> {
  const { signal } = new AbortController();
  const startedAt = performance.now();
  const endAt = startedAt + forSeconds * 1_000;
  let sent = 0;
  const send = async (): Promise<void> => {
    while (performance.now() < endAt) {
      const { kind } = await link.send(MESSAGE, signal, async () => true);
      if (kind !== "accepted") throw new Error(`a message is ${kind}`);
      sent += 1;
    }
  };
  await Promise.all(Array.from({ length: window }, send));
  return (sent * 1_000) / (performance.now() - startedAt);
}

await runBenchmark(async () => {
  const carrier = spawn(process.execPath, [join(import.meta.dirname, "peers", "http-carrier.ts")], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  children.push(carrier);
  const [port] = (await once(carrier.stdout, "data")) as [Buffer];
  const url = `http://127.0.0.1:${port.toString().trim()}`;
  const links = {
    twilio: await twilio.open(
      {
        baseUrl: url,
        accountSid: "AC1",
        authToken: "token",
        messagingServiceSid: null,
        statusCallbackUrl: CALLBACK_URL,
        partsPerSecond: PARTS_PER_SECOND,
        window,
      },
      HOST,
    ),
    http: await http.open(definedSettings(url), HOST),
  };
  for (const link of Object.values(links)) await rateOf(link, WARM_UP_SECONDS);
  const results: { twilio: number; http: number }[] = [];
  for (let round = 1; round <= rounds; round += 1) {
    // The links take turns at being first.
    const order = round % 2 === 0 ? (["twilio", "http"] as const) : (["http", "twilio"] as const);
    const result = { twilio: 0, http: 0 };
    for (const name of order) result[name] = await rateOf(links[name], seconds);
    results.push(result);
    say(`round ${round} of ${rounds}: twilio ${show(result.twilio)}/s, http ${show(result.http)}/s`);
  }
  for (const link of Object.values(links)) await link.close();
  const ratio = median(results.map((result) => result.http / result.twilio));
  out(machine());
  out("\n| median of the rounds | messages per second |\n|---|---|");
  for (const name of ["twilio", "http"] as const) out(`| ${name} | ${show(median(results.map((result) => result[name])))} |`);
  out(`\n| ratio | measured | wanted |\n|---|---|---|\n| http / twilio | ${show(ratio, 2)} | ≥ ${LEAST_RATIO} |`);
  if (ratio < LEAST_RATIO) process.exitCode = 1;
});

/** npm run attack: attacks a service on this machine, beside a modest client, and verifies that the service goes on for other accounts. */
import { parseArgs } from "node:util";
import { TEMPLATE, urlOf } from "../test/support/database.ts";
import { FAST, TestServer } from "../test/support/test-server.ts";
import { ATTACKS } from "./attacks.ts";
import { runTrial, type Result } from "./trial.ts";

const HELP = `Usage: npm run attack -- [flags]

Starts a PostgreSQL server and a Godwit node on this machine, and attacks the node in the ways that reviews have found, one after the other.
Meanwhile a modest client of another account sends 20 messages a second. Prints for each attack the longest turn of the event loop (processor
time), the memory that the attack holds, and the refusals and the p99 of the modest client.

  --seconds N   how long each attack lasts; default 8
  --only TEXT   only attacks whose name contains the text
  --json        prints the report as JSON
  --help        prints this text

Limits: a turn of 50 ms; 64 MB held by strangers, 128 MB by an account; no refusal; three times the p99 without the
attack. Both p99 are measured in turns, up to six times if the limit is exceeded, and the least of each is compared:
another program lengthens some phases, an attack each of its own.
Exit codes: 0 within the limits, 1 beyond them or a failure, 2 wrong use.
`;

async function main({ seconds, only, isJson }: { seconds: number; only: string; isJson: boolean }): Promise<void> {
  const server = await TestServer.start(FAST);
  const results: Result[] = [];
  try {
    await runTrial({
      attacks: ATTACKS.filter(({ name }) => name.includes(only)),
      databaseUrl: urlOf(TEMPLATE, server.url),
      seconds,
      isQuiet: true,
      onResult: (result) => {
        results.push(result);
        if (!isJson) process.stdout.write(`${line(result)}\n`);
      },
    });
  } finally {
    await server.stop();
  }
  if (isJson) process.stdout.write(`${JSON.stringify(results, null, 2)}\n`);
  if (results.some(({ violations }) => Object.keys(violations).length > 0)) process.exitCode = 1;
}

const line = ({ name, worstTurnMs, heldMb, sent, refused, p99Ms, idleMs, slower, violations }: Result): string =>
  [
    `${Object.keys(violations).length === 0 ? "✔" : "✖"} ${name}`,
    `longest turn ${worstTurnMs.toFixed(0)} ms, ${heldMb.toFixed(0)} MB held`,
    `${refused} of ${sent} refused, p99 ${p99Ms.toFixed(0)} ms, ${idleMs === undefined ? "not judged" : `${idleMs.toFixed(0)} ms without the attack (${slower?.toFixed(1)}×)`}`,
    ...Object.values(violations).map((each) => `VIOLATION ${each}`),
  ].join("\n  ");

try {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "8" },
      only: { type: "string", default: "" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  const seconds = Number(values.seconds);
  if (!(seconds > 0 && seconds <= 3_600)) throw new Error("--seconds needs a number from 1 to 3600");
  if (values.help) process.stdout.write(HELP);
  else await main({ seconds, only: values.only, isJson: values.json });
} catch (error) {
  process.stderr.write(`${String((error as Error).stack)}\n\n${HELP}`);
  process.exitCode = 2;
}

/** npm run fuzz: sends random requests to a service, and verifies that none of them fails, stalls or crashes it. */
import { randomInt } from "node:crypto";
import { parseArgs } from "node:util";
import { TEMPLATE, urlOf } from "../test/support/database.ts";
import { FAST, TestServer } from "../test/support/test-server.ts";
import { Fuzzer, type FuzzReport } from "./run.ts";
import { MeasuredService } from "./service.ts";

const HELP = `Usage: npm run fuzz -- [flags]

Starts a PostgreSQL server and a Godwit node on this machine. Draws requests from the OpenAPI document of the node: valid ones, and ones with
a mutated path, query, header or body. Verifies each response and each turn of the event loop.

  --seconds N   how long requests are sent; default 60
  --seed N      the same seed draws the same requests, as far as the responses are the same; default random
  --json        prints the report as JSON
  --help        prints this text

Exit codes: 0 no violation, 1 violations or a failure, 2 wrong use.
`;

type Options = { seconds: number; seed: number; isJson: boolean };

function readOptions(): Options | "help" {
  const { values } = parseArgs({
    options: {
      seconds: { type: "string", default: "60" },
      seed: { type: "string" },
      json: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
    },
  });
  if (values.help) return "help";
  const number = (name: string, text: string): number => {
    const value = Number(text);
    if (!(value > 0) || value > 2 ** 31) throw new Error(`--${name} needs a positive number`);
    return value;
  };
  return {
    seconds: number("seconds", values.seconds),
    seed: values.seed === undefined ? randomInt(1, 2 ** 31) : Math.trunc(number("seed", values.seed)),
    isJson: values.json,
  };
}

const formatReport = ({ seed, requests, statuses, longestTurnMs, largestErrorBytes, heapGrowthBytes, violations }: FuzzReport): string =>
  [
    `seed ${seed}: ${requests} requests`,
    `statuses: ${Object.entries(statuses)
      .map(([status, count]) => `${status} (${count}×)`)
      .join(", ")}`,
    `longest turn: ${longestTurnMs.toFixed(1)} ms of processor time`,
    `largest error: ${largestErrorBytes} bytes`,
    `growth of the heap: ${(heapGrowthBytes / 1_048_576).toFixed(1)} MB`,
    ...(violations.length === 0 ? ["no violation"] : violations.map((each) => `VIOLATION ${each}`)),
    "",
  ].join("\n");

async function main({ seconds, seed, isJson }: Options): Promise<void> {
  process.stderr.write(`seed ${seed}: ${seconds} s\n`);
  const server = await TestServer.start(FAST);
  let service: MeasuredService | undefined;
  try {
    service = await MeasuredService.start({ roles: "api,dispatch", databaseUrl: urlOf(TEMPLATE, server.url) });
    const report = await Fuzzer.run(service, { seed, runMs: seconds * 1_000 });
    process.stdout.write(isJson ? `${JSON.stringify(report, null, 2)}\n` : formatReport(report));
    if (report.violations.length > 0) process.exitCode = 1;
  } finally {
    await service?.stop();
    await server.stop();
  }
}

try {
  const options = readOptions();
  if (options === "help") process.stdout.write(HELP);
  else await main(options);
} catch (error) {
  process.stderr.write(`${String((error as Error).stack)}\n\n${HELP}`);
  process.exitCode = 2;
}

/** godwit doctor: checks everything that the service depends on, and reports faults with the next step. Changes nothing. */
import { inspectConfig, type Config } from "../config.ts";
import { errorMessage, fail, runCheck, type Check } from "./check.ts";
import { checkBucket } from "./check-bucket.ts";
import { checkDatabase } from "./check-database.ts";
import { checkEndpoints } from "./check-endpoints.ts";
import { checkLinks } from "./check-links.ts";
import { checkLoad } from "./check-load.ts";
import { checkConfig, checkDisk, checkNode, checkService, checkTls, readServiceMetrics, separateFaults } from "./check-machine.ts";
import { EXIT, type Command } from "./command.ts";
import { paint } from "./output.ts";

export const doctor: Command = {
  name: "doctor",
  about: [
    "Checks the configuration, the disk, the database, the queue, the links, the webhook endpoints and the service. Prints a line for each check, with the next step if there is a problem.",
    "Changes nothing, and works without a running service. Use the settings of the service.",
  ],
  usage: ["doctor [settings] [--load]"],
  flags: { load: { isSwitch: true, help: "also find what limits the service now; takes some seconds" } },
  settings: "service",
  examples: [
    ["Check a node:", "godwit doctor --config godwit.toml"],
    ["The problems, for a monitor:", `godwit doctor --json | jq -r '.checks[] | select(.status != "ok") | "\\(.name): \\(.detail)"'`],
  ],
  exitCodes: { 0: "no check failed; there may be warnings", 1: "a check failed", 2: "wrong use" },
  async run({ flags }) {
    const [any, serving] = [inspectConfig(flags, "database"), inspectConfig(flags, "serve")];
    const { config } = any;
    const faults = separateFaults(any, serving);
    const checks = [checkConfig(faults, any), checkNode()];
    // With a faulty configuration it is not certain which database is meant.
    if (faults.always.length === 0) {
      checks.push(checkDisk(config), checkTls(config, any));
      const database = checkDatabase(config, async (opened) => [
        ...(await checkLinks(config.plan.links, opened)),
        ...(opened === undefined ? [] : [await runCheck("webhooks", () => checkEndpoints(opened.db, config))]),
      ]);
      const bucket = checkBucket(config.mediaBucket);
      const service = await checkService(config);
      checks.push(...(await database), ...(await bucket), service);
      if (flags["load"] === true && service.status === "ok") checks.push(await runLoadCheck(config));
    }
    const status = (["fail", "warn", "ok"] as const).find((each) => checks.some((check) => check.status === each)) ?? "ok";
    process.stdout.write(flags["json"] === true ? `${JSON.stringify({ status, checks })}\n` : report(checks));
    return status === "fail" ? EXIT.failed : EXIT.done;
  },
};

async function runLoadCheck(config: Config): Promise<Check> {
  try {
    return await checkLoad(() => readServiceMetrics(config));
  } catch (error) {
    return fail("load", `could not be checked: ${errorMessage(error)}`, "permit this machine in GODWIT_METRICS_ALLOW");
  }
}

const LABEL = { ok: paint("green", "ok  "), warn: paint("yellow", "warn"), fail: paint("red", "FAIL") } as const;

function report(checks: readonly Check[]): string {
  const width = Math.max(...checks.map(({ name }) => name.length));
  return checks
    .map(({ name, status, detail, hint }) => {
      const advice = hint === null ? "" : `${" ".repeat(width + 8)}→ ${hint}\n`;
      return `${LABEL[status]}  ${name.padEnd(width)}  ${detail}\n${advice}`;
    })
    .join("");
}

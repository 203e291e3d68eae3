/** godwit carriers: lists the included definitions of HTTP carriers, and tries a definition with the examples of a carrier's documentation. */
import { existsSync, readFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { parse as parseToml, TomlError } from "smol-toml";
import { environmentVariables } from "../config.ts";
import { createLog } from "../model/log.ts";
import type { Recipient } from "../model/phone-number.ts";
import { CARRIERS, carrierPath, withCarrierFiles } from "../links/carrier-files.ts";
import { readPlan } from "../links/plan.ts";
import { carrierOf } from "../providers/http/carrier.ts";
import { explainCallback, explainSend, type Explained } from "../providers/http/explain.ts";
import { EXAMPLE_MS, exampleFaults, exampleMessage, exampleSecret, outcomeText, type Examples } from "../providers/http/examples.ts";
import { http, type HttpSettings } from "../providers/http/http.ts";
import type { Host } from "../providers/provider.ts";
import { EXIT, neededFlag, pairFlags, textFlag, UsageError, type Command, type Input } from "./command.ts";
import { paint, print } from "./output.ts";

export const carriers: Command = {
  name: "carriers",
  about: [
    "CARRIER is the name of an included definition of an HTTP carrier, or the path of your own file.",
    "test runs the examples of the definition without a connection. It prints each request, the values that the paths find, and the outcome of each response and callback. The examples of acme.toml are in acme.examples.toml.",
    "With --live it sends a real message, with the secrets of the environment variables that the definition names.",
  ],
  usage: ["carriers list", "carriers test CARRIER [flags]"],
  flags: {
    examples: { value: "FILE", help: "another file with examples" },
    value: { value: "NAME=TEXT", isRepeated: true, help: "value of the definition" },
    "public-url": { value: "URL", help: "public URL of the service", fallback: "https://godwit.example" },
    live: { isSwitch: true, help: "send one message through the carrier" },
    to: { value: "NUMBER", group: "with --live", help: "recipient, in E.164" },
    from: { value: "SENDER", group: "with --live", help: "sender" },
    text: { value: "TEXT", group: "with --live", help: "text of the message", fallback: "Test of Godwit" },
  },
  settings: "none",
  hasTables: true,
  examples: [
    ["Your own definition:", "godwit carriers test ./acme.toml"],
    ["A real message:", "ACME_TOKEN=… godwit carriers test ./acme.toml --live --to +4915112345678 --from +14155550100"],
  ],
  exitCodes: { [EXIT.failed]: "an example has another outcome, or the carrier did not accept the message" },
  async run(input) {
    const [verb, carrier] = input.words;
    if (verb !== "test") return list(input);
    if (carrier === undefined) throw new UsageError("name a carrier, or the path of a file");
    const isLive = input.flags["live"] === true;
    const examples = isLive ? {} : readExamples(input, carrier);
    const settings = readSettings(input, carrier, { values: examples.values ?? {}, isLive });
    return isLive ? sendLive(input, settings) : tryExamples(input, settings, examples);
  },
};

const pathOf = (carrier: string): string => (CARRIERS.includes(carrier) ? carrierPath(carrier) : resolve(carrier));

function list({ flags }: Input): void {
  const rows = CARRIERS.map((carrier) => ({
    carrier,
    api: readFileSync(carrierPath(carrier), "utf8").split("\n", 1)[0]?.replace(/^# /, ""),
  }));
  print(flags, rows);
}

/** Reads a file. A fault of TOML names its line. */
function readToml(path: string): Record<string, unknown> {
  try {
    return parseToml(readFileSync(path, "utf8"));
  } catch (error) {
    if (error instanceof TomlError) throw new UsageError(`${path}:${error.line}:${error.column}: ${error.message}`);
    throw new UsageError(`${path}: ${(error as Error).message}`);
  }
}

function readExamples({ flags }: Input, carrier: string): Examples {
  const path = pathOf(carrier);
  const beside = path.replace(/(\.toml)?$/, ".examples.toml");
  const included = join(dirname(carrierPath("x")), "..", "carrier-examples", basename(path));
  const examplesPath = textFlag(flags, "examples") ?? (CARRIERS.includes(carrier) ? included : beside);
  if (!existsSync(examplesPath)) throw new UsageError(`there is no file ${examplesPath} with examples; name one with --examples`);
  const file = readToml(examplesPath);
  const faults = exampleFaults(file);
  if (faults.length > 0) throw new UsageError(`${examplesPath}:\n${faults.map((fault) => `  - ${fault}`).join("\n")}`);
  return file;
}

type Read = { values: Readonly<Record<string, string>>; isLive: boolean };

/** Reads the definition as a link of the configuration file. Reports all of its faults. */
function readSettings({ flags }: Input, carrier: string, { values, isLive }: Read): HttpSettings {
  const { secrets = {} } = readToml(pathOf(carrier)) as { secrets?: Record<string, string> };
  const names = new Map(Object.entries(secrets).map(([name, variable]) => [variable, name.replace(/_env$/, "")]));
  const table = {
    name: "main",
    provider: "http",
    carrier: CARRIERS.includes(carrier) ? carrier : resolve(carrier),
    public_url: textFlag(flags, "public-url") ?? "https://godwit.example",
    values: { ...values, ...Object.fromEntries(pairFlags(flags, "value")) },
  };
  const secretOf = (variable: string): string | undefined =>
    isLive ? environmentVariables()[variable] : exampleSecret(names.get(variable) ?? variable);
  const faults: string[] = [];
  const { links } = readPlan(withCarrierFiles({ link: [table] }, undefined, faults), secretOf, faults);
  if (faults.length > 0)
    throw new UsageError(`${pathOf(carrier)}:\n${faults.map((fault) => `  - ${fault.replace("link main: ", "")}`).join("\n")}`);
  return links[0]?.settings as HttpSettings;
}

function tryExamples({ flags }: Input, settings: HttpSettings, { send = [], callback = [] }: Examples): number {
  const all = [...send.map((example) => explainSend(settings, example)), ...callback.map((example) => explainCallback(settings, example))];
  const failed = all.filter(({ isRight }) => !isRight).length;
  if (flags["json"] === true) print(flags, all);
  else process.stdout.write(`${all.map(toText).join("\n")}\n${all.length} examples, ${failed} with another outcome\n`);
  return failed > 0 ? EXIT.failed : EXIT.done;
}

function toText({ name, lines, expected, found, isRight }: Explained): string {
  const result = isRight ? [`${paint("green", "right")}: ${found}`] : [`${paint("red", "wrong")}: ${found}`, `expected: ${expected}`];
  return `${[name, ...[...lines, ...result].map((line) => `  ${line}`)].join("\n")}\n`;
}

const refuse = async (): Promise<never> => {
  throw new Error("a test of a definition receives nothing");
};

/** Sends one message. Receipts go to the public URL, not here. */
async function sendLive({ flags }: Input, settings: HttpSettings): Promise<number> {
  const recipient = neededFlag(flags, "to") as Recipient;
  if (!/^\+[1-9]\d{6,14}$/.test(recipient)) throw new UsageError("--to must be a phone number in E.164, such as +4915112345678");
  const { requests } = carrierOf(settings);
  const host: Host = {
    receive: refuse,
    receiveMessages: refuse,
    receivePart: refuse,
    receivePreferences: refuse,
    receiveUnmatched: refuse,
    receiveReviews: refuse,
    templatesChanged: () => undefined,
    changed: () => undefined,
    now: () => Date.now(),
    log: createLog("silent").log,
  };
  process.stdout.write(`Sending one real message to ${recipient} through ${requests.baseUrl}\n`);
  const connection = await http.open(settings, host);
  const message = {
    ...exampleMessage({ text: textFlag(flags, "text") ?? "Test of Godwit" }),
    recipient,
    sender: textFlag(flags, "from") ?? null,
  };
  const outcome = await connection.send(
    { ...message, expiresAtMs: Date.now() + (message.expiresAtMs - EXAMPLE_MS) },
    AbortSignal.timeout(60_000),
    async () => true,
  );
  const reason = connection.state?.reason;
  await connection.close();
  process.stdout.write(`${outcomeText(outcome)}${reason ? `: ${reason}` : ""}\n`);
  return outcome.kind === "accepted" ? EXIT.done : EXIT.failed;
}

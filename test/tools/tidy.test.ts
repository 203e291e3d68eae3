import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { basename, dirname, join, normalize } from "node:path";
import { test } from "node:test";

/** A file by its path from the root of the checkout, with forward slashes. */
type SourceFile = { path: string; text: string };
/** Returns the faults of a file, each with the place where the code belongs. */
type Rule = (file: SourceFile) => string[];

// Higher may import lower. Files outside of folders are named with their extension.
const RANKS: Readonly<Record<string, number>> = {
  "main.ts": 15,
  cli: 14,
  service: 13,
  "routes.ts": 12,
  "compatible-apis.ts": 11,
  // Each of them imports the one rank below, and no other API.
  kannel: 10,
  "twilio-api": 10,
  compatible: 9,
  api: 9,
  // The data of a person is in the records of all features.
  recipients: 9,
  delivery: 8,
  webhooks: 8,
  retention: 8,
  reviews: 8,
  batches: 8,
  bulk: 7,
  verifications: 8,
  messages: 7,
  templates: 6,
  media: 6,
  consent: 6,
  "config.ts": 7,
  "setting-values.ts": 5,
  "settings.ts": 4,
  events: 5,
  usage: 5,
  requests: 5,
  access: 4,
  links: 4,
  audit: 3,
  embedded: 3,
  queue: 3,
  idempotency: 3,
  http: 2,
  database: 2,
  providers: 3,
  quality: 3,
  tracing: 2,
  model: 1,
  outbound: 1,
  lib: 0,
  "timings.ts": 0,
  "version.ts": 0,
};

/** Imports that are exempt from a rule, or refused in addition to it, each with its reason. */
type Exception = { from: RegExp; to: RegExp; onlyTypes?: true; why: string };
const UPWARD: readonly Exception[] = [
  { from: /^[a-z]+\/([a-z]+-)?routes\.ts$/, to: /^api\/(route|paging)\.ts$/, why: "a feature's HTTP routes are written in rows and pages" },
  { from: /^[a-z]+\/([a-z]+-)?pages\.ts$/, to: /^api\/(page|responses)\.ts$/, why: "routes that need no credential are pages" },
];
const PRIVATE_QUERIES: readonly Exception[] = [
  { from: /^messages\//, to: /^events\//, why: "a message's timeline is read and redacted with the message" },
  { from: /^webhooks\//, to: /^events\//, why: "a delivery carries its event" },
  {
    from: /^recipients\//,
    to: /^(consent|events|media|messages|verifications)\//,
    why: "an export reads the records of a person in every feature",
  },
  {
    from: /^twilio-api\//,
    to: /^(media|messages|verifications)\//,
    why: "Twilio's lists of messages are those of our API in another form",
  },
  { from: /^delivery\//, to: /^usage\//, why: "the depth of the queue is read from the counts" },
  { from: /^cli\//, to: /^access\//, why: "the operator's commands list and change accounts and keys" },
  { from: /^cli\//, to: /^compatible\//, why: "the operator's commands list credentials" },
  { from: /^kannel\//, to: /^usage\//, why: "the status pages show the counts" },
  { from: /^cli\//, to: /^audit\//, why: "the operator's command reads the logs of all accounts" },
  { from: /^service\//, to: /^access\//, why: "the first start creates an account" },
];
const CONFIG_READERS: readonly Exception[] = [
  { from: /^cli\//, to: /./, why: "commands read the configuration" },
  { from: /^service\//, to: /./, why: "the service starts with the configuration" },
  { from: /^main\.ts$/, to: /./, why: "a fault of the configuration has its own exit code" },
];
/** Imports that are refused although the rank is lower. */
const BARRED: readonly Exception[] = [
  {
    from: /^api\//,
    to: /^(messages|delivery|webhooks|retention|usage|providers|templates|consent|batches|verifications|links|reviews|recipients)\//,
    why: "api knows no feature's rules: service/ hands it the feature's routes",
  },
];

const isSource = ({ path }: SourceFile): boolean => /^src\/.*(?<!\.test)\.ts$/.test(path);
const isConsole = ({ path }: SourceFile): boolean => /^console\/src\/.*\.tsx?$/.test(path);
/** The files of the SDK, except the generated one. */
const isPackage = ({ path }: SourceFile): boolean => /^sdk\/src\/(?!schema\.ts$)/.test(path);
const isTest = ({ path }: SourceFile): boolean => path.endsWith(".test.ts");
const withoutSrc = (path: string): string => path.replace(/^src\//, "");
/** The folder of a file, or the name of a file outside of folders. */
const home = (path: string): string => withoutSrc(path).split("/")[0] ?? "";

type Import = { to: string; isType: boolean };

/** Imports of our own files, by their path under src. */
function importsOf({ path, text }: SourceFile): Import[] {
  const statements = text.matchAll(/^(?:import|export)\s+(type\s)?(?:(\{[^}]*\}|[^"';]*?)\s*from\s*)?"(\.[^"]+)"/gm);
  const dynamic = text.matchAll(/\bimport\(\s*["'`](\.[^"'`]+)/g);
  const areTypes = (names: string | undefined): boolean => /^\{(\s*type\s[^,}]*,?)+\s*\}$/.test(names ?? "");
  return [
    ...Array.from(statements, ([, type, names, target]) => ({ target, isType: type !== undefined || areTypes(names) })),
    ...Array.from(dynamic, ([, target]) => ({ target, isType: false })),
  ].map(({ target, isType }) => ({ to: withoutSrc(normalize(join(dirname(path), target ?? "")).replaceAll("\\", "/")), isType }));
}

const applies = (rows: readonly Exception[], from: string, { to, isType }: Import): Exception | undefined =>
  rows.find((row) => row.from.test(from) && row.to.test(to) && (isType || row.onlyTypes !== true));

const importDirection: Rule = (file) => {
  if (!isSource(file)) return [];
  const from = withoutSrc(file.path);
  const rank = RANKS[home(file.path)];
  if (rank === undefined) return [`${file.path}: the folder ${home(file.path)} has no rank yet: give it one in test/tools/tidy.test.ts`];
  return importsOf(file).flatMap((each) => {
    const [mine, theirs] = [home(from), home(each.to)];
    const barred = applies(BARRED, from, each);
    if (barred !== undefined) return [`${file.path} imports ${each.to}: ${barred.why}`];
    if (theirs === "config.ts" || mine === theirs) return [];
    if ((RANKS[theirs] ?? Infinity) < rank || applies(UPWARD, from, each) !== undefined) return [];
    return [`${file.path} imports ${each.to}, which is not below it: move the shared code to a folder below ${mine} and ${theirs}`];
  });
};

/** The console: shared code, then the pages, which do not import each other. The send page follows the message that it sent. */
const CONSOLE_RANKS: Readonly<Record<string, number>> = { lib: 0, session: 1, ui: 2, shell: 3, send: 5, "app.tsx": 6, "main.tsx": 7 };
const PAGE_RANK = 4;
/** The code that the console shares with the service. It runs in browsers. */
const SHARED_WITH_CONSOLE = /^src\/(lib\/csv|bulk\/[a-z-]+)\.ts$/;

const consoleDirection: Rule = (file) => {
  if (!isConsole(file)) return [];
  const folderOf = (path: string): string => path.replace(/^console\/src\//, "").split("/")[0] ?? "";
  const rankOf = (folder: string): number => CONSOLE_RANKS[folder] ?? PAGE_RANK;
  const mine = folderOf(file.path);
  return importsOf(file)
    .map(({ to }) => to)
    .filter((to) => /\.tsx?$/.test(to) && !SHARED_WITH_CONSOLE.test(`src/${to}`))
    .filter((to) => !to.startsWith("console/") || (folderOf(to) !== mine && rankOf(folderOf(to)) >= rankOf(mine)))
    .map((to) => `${file.path} imports ${to}, which is not below it: move the shared code to lib/ or ui/`);
};

const browserCode: Rule = (file) =>
  isSource(file) && SHARED_WITH_CONSOLE.test(file.path) && /\bfrom "node:|\bBuffer\b|\bprocess\./.test(file.text)
    ? [`${file.path} uses Node: the console shares it, so it takes what it needs of Node as a parameter`]
    : [];

const configReaders: Rule = (file) => {
  if (!isSource(file)) return [];
  const from = withoutSrc(file.path);
  return importsOf(file)
    .filter((each) => each.to === "config.ts" && applies(CONFIG_READERS, from, each) === undefined)
    .map(() => `${file.path} imports config.ts: take the value as a parameter; service/ and cli/ pass it on`);
};

const privateQueries: Rule = (file) => {
  if (!isSource(file)) return [];
  const from = withoutSrc(file.path);
  return importsOf(file)
    .filter(
      (each) => basename(each.to) === "queries.ts" && home(each.to) !== home(from) && applies(PRIVATE_QUERIES, from, each) === undefined,
    )
    .map(({ to }) => `${file.path} imports ${to}, which is private to ${home(to)}: export a verb from a file beside it`);
};

const NAMELESS = new Set(["utils", "util", "helpers", "helper", "services", "managers", "manager", "types", "common", "misc"]);

const goodNames: Rule = ({ path }) => {
  if (!path.startsWith("src/")) return [];
  const bad = path.split("/").find((name) => NAMELESS.has(name.replace(/\..*$/, "")));
  if (bad !== undefined) return [`${path}: ${bad} is not a descriptive name: name it for its one idea, in the folder of its feature`];
  return basename(path).startsWith("index.") ? [`${path}: no barrels: import from the file that has it`] : [];
};

const depth: Rule = ({ path }) =>
  path.startsWith("src/") && path.split("/").length > 3 && !/^src\/(database\/migrations|providers\/[a-z]+)\//.test(path)
    ? [`${path} is nested too deep: it belongs to src/${home(path)}/, or to a folder of its own under src/`]
    : [];

const environmentReader: Rule = (file) =>
  isSource(file) && file.path !== "src/config.ts" && /\bprocess\s*(\??\.\s*env\b|\[\s*["'`]env)/.test(file.text)
    ? [`${file.path} reads process.env: add a row to SETTINGS in src/settings.ts and take the value as a parameter`]
    : [];

const MAX_LINES = 350;

const length: Rule = (file) => {
  const lines = file.text.trimEnd().split("\n").length;
  return (isSource(file) || isPackage(file) || isConsole(file)) && lines > MAX_LINES
    ? [`${file.path} has ${lines} lines, ${MAX_LINES} at most: move its second idea to a file of its own`]
    : [];
};

const purpose: Rule = (file) =>
  (isSource(file) || isPackage(file) || isConsole(file)) && !/^(#!.*\n)?\/\*\* [^\s*]/.test(file.text)
    ? [`${file.path} does not state its purpose: start it with a /** comment */`]
    : [];

const noConsole: Rule = (file) =>
  (isSource(file) || isPackage(file)) && /\bconsole\s*\./.test(file.text)
    ? [`${file.path} uses console: log through model/log.ts, or print through cli/output.ts`]
    : [];

const reasonedSkips: Rule = (file) => {
  // This file contains examples of refused code.
  if (!isTest(file) || file.path === "test/tools/tidy.test.ts") return [];
  const found = [
    ...file.text.matchAll(/\b(?:test|it|describe|suite)\s*\.\s*(?:only|skip|todo)\b/g),
    ...file.text.matchAll(/\b(?:only|skip|todo):\s*true\b/g),
    ...file.text.matchAll(/\.\s*(?:skip|todo)\(\s*\)/g),
  ];
  return found.map(([what]) => `${file.path}: ${what} without a reason: run it, or write { skip: "why, and until when" }`);
};

const SQL_HOMES =
  /^src\/((?:database|embedded)\/.*|[a-z-]+\/(queries|[a-z-]+-queries|[a-z]+-statement|refusal|publish|queue|fallbacks|parts))\.ts$/;

const sqlHomes: Rule = (file) => {
  if (!isSource(file) || SQL_HOMES.test(file.path)) return [];
  const statements = Array.from(file.text.matchAll(/\b(?:sql|prepare\()\s*`([^`]*)`/g), ([, text]) => text ?? "");
  return (
    statements
      .filter((text) => /\b(select|insert|update|delete)\b/i.test(text))
      // The service itself checks whether the database responds.
      .filter((text) => !(file.path === "src/service/start-service.ts" && text === "select 1"))
      .map((text) => `${file.path} has SQL (${text.trim().split("\n")[0]}): it belongs to ${dirname(file.path)}/queries.ts`)
  );
};

const DRIVER_FENCE = "src/database/driver.ts";

const driverFence: Rule = (file) => {
  if (!isSource(file) || file.path === DRIVER_FENCE) return [];
  const [inner] = /\bfrom "(pg-[a-z-]+|pg\/[^"]*)"/.exec(file.text) ?? [];
  const [cast] = (/\bfrom "pg"/.test(file.text) && /\bas unknown as\b.*/.exec(file.text)) || [];
  return [inner, cast]
    .filter((found) => found !== undefined)
    .map((found) => `${file.path} depends on parts of pg that are not public (${found}): it belongs to ${DRIVER_FENCE}`);
};

const RULES: readonly (readonly [sentence: string, rule: Rule])[] = [
  ["imports point downwards only", importDirection],
  ["pages of the console do not import each other", consoleDirection],
  ["code that the console shares needs no Node", browserCode],
  ["only the top folders read the configuration", configReaders],
  ["only a feature itself uses its queries", privateQueries],
  ["files and folders have descriptive names", goodNames],
  ["no file is nested deeper than src/folder/file", depth],
  ["only config.ts reads process.env", environmentReader],
  ["no source file is longer than 350 lines", length],
  ["every source file starts with its purpose", purpose],
  ["no test is skipped without a reason, or marked as the only one", reasonedSkips],
  ["nothing is written to the console", noConsole],
  ["SQL is only in queries.ts, database and embedded", sqlHomes],
  ["only database/driver.ts depends on parts of the driver that are not public", driverFence],
];

const root = join(import.meta.dirname, "..", "..");
const files: readonly SourceFile[] = globSync(
  [
    "src/**/*.*",
    "{test,scripts,bench,chaos,fuzz}/**/*.ts",
    "sdk/{src,test,scripts}/**/*.ts",
    "sdk-python/{test,scripts}/**/*.ts",
    "console/{src,test,scripts}/**/*.{ts,tsx}",
  ],
  { cwd: root },
).map((path) => ({
  path: path.replaceAll("\\", "/"),
  text: readFileSync(join(root, path), "utf8"),
}));

test("the source files are found", () => assert.ok(files.filter(isSource).length > 40));

for (const [sentence, rule] of RULES) test(sentence, () => assert.deepEqual(files.flatMap(rule), []));

test("every rank and exception is in use", () => {
  const sources = files.filter(isSource);
  const unused = [...UPWARD, ...PRIVATE_QUERIES, ...CONFIG_READERS].filter(
    (row) => !sources.some((file) => importsOf(file).some((each) => applies([row], withoutSrc(file.path), each))),
  );
  assert.deepEqual(unused, []);
  const homes = new Set(sources.map(({ path }) => home(path)));
  assert.deepEqual(
    Object.keys(RANKS).filter((name) => !homes.has(name)),
    [],
  );
});

/** Files that import each other in a circle, types included. A reader could not start with any of them. */
function circles(sources: readonly SourceFile[]): string[] {
  const imports = new Map(sources.map((file) => [withoutSrc(file.path), importsOf(file).map(({ to }) => to)]));
  const reachable = (from: string): Set<string> => {
    const seen = new Set<string>();
    const open = [from];
    for (let next = open.pop(); next !== undefined; next = open.pop())
      for (const to of imports.get(next) ?? []) if (!seen.has(to) && seen.add(to)) open.push(to);
    return seen;
  };
  const inCircle = sources.filter(({ path }) => reachable(withoutSrc(path)).has(withoutSrc(path)));
  return inCircle.map(({ path }) => {
    const next = imports.get(withoutSrc(path))?.filter((to) => reachable(to).has(withoutSrc(path))) ?? [];
    return `${path} imports itself through ${next.join(", ")}`;
  });
}

test("no files import each other in a circle, not even types", () => {
  assert.deepEqual(circles(files), []);
  const folders = new Set(files.filter((file) => importsOf(file).length > 0).map(({ path }) => path.split("/")[0]));
  assert.deepEqual(folders, new Set(["bench", "chaos", "console", "fuzz", "scripts", "sdk", "sdk-python", "src", "test"]));
});

test("a circle of types is reported", () => {
  const one = { path: "src/lib/one.ts", text: 'import type { Two } from "./two.ts";' };
  const two = { path: "src/lib/two.ts", text: 'import type { One } from "./one.ts";' };
  assert.deepEqual(circles([one, two]), [
    "src/lib/one.ts imports itself through lib/two.ts",
    "src/lib/two.ts imports itself through lib/one.ts",
  ]);
});

test("a circle of a test and its helper is reported", () => {
  const helper = { path: "test/support/rig.ts", text: 'import { it } from "../api/x.test.ts";' };
  const user = { path: "test/api/x.test.ts", text: 'import { Rig } from "../support/rig.ts";' };
  assert.deepEqual(circles([helper, user]), [
    "test/support/rig.ts imports itself through test/api/x.test.ts",
    "test/api/x.test.ts imports itself through test/support/rig.ts",
  ]);
});

/** Names that several files of src export, each with its reason. */
const SHARED_NAMES: Readonly<Record<string, string>> = {
  listen: "a command of cli/ is exported by its name on the command line",
  migrate: "a command of cli/ is exported by its name on the command line",
  handleRequest: "every provider with a webhook has one",
  interpretResponse: "every provider that sends over HTTP has one",
  toReceiptError: "every provider that sends over HTTP has one",
  HEADER_BYTES: "SMPP and the parts of a message both have a header; providers/smpp/ uses the two in different files",
};

/** The names that a file declares and exports. A name that it only passes on from another file keeps its meaning. */
const exportsOf = ({ text }: SourceFile): string[] =>
  Array.from(
    text.matchAll(/^export\s+(?:declare\s+|abstract\s+|async\s+)*(?:const|let|function\s*\*?|class|type|interface|enum)\s+(\w+)/gm),
    ([, name]) => name ?? "",
  );

/** The names that several files export, each with its files. A value and a type of one file may share their name. */
function sharedNames(sources: readonly SourceFile[]): Map<string, string[]> {
  const homes = new Map<string, string[]>();
  for (const file of sources)
    for (const name of new Set(exportsOf(file))) homes.set(name, [...(homes.get(name) ?? []), withoutSrc(file.path)]);
  return new Map([...homes].filter(([, paths]) => paths.length > 1));
}

test("no two files export the same name", () => {
  const shared = sharedNames(files.filter(isSource));
  const faults = [...shared].filter(([name]) => SHARED_NAMES[name] === undefined);
  assert.deepEqual(
    faults.map(([name, paths]) => `${paths.join(" and ")} export ${name}: give one of them a name that states its subject`),
    [],
  );
  assert.deepEqual(
    Object.keys(SHARED_NAMES).filter((name) => !shared.has(name)),
    [],
    "every exception is in use",
  );
});

test("a name that two files export is reported", () => {
  const one = { path: "src/lib/one.ts", text: "export const limit = 1;\nexport async function read() {}\nexport type Row = string;" };
  const two = { path: "src/lib/two.ts", text: 'export type Row = number;\nconst read = 2;\nexport { limit } from "./one.ts";' };
  assert.deepEqual([...sharedNames([one, two])], [["Row", ["lib/one.ts", "lib/two.ts"]]]);
});

type Sample = readonly [what: string, rule: Rule, path: string, text: string];

const REFUSED: readonly Sample[] = [
  ["an import upwards", importDirection, "src/lib/id.ts", 'import { x } from "../database/sql.ts";'],
  ["an import over several lines", importDirection, "src/http/x.ts", 'import {\n  a,\n  b,\n} from "../access/scope.ts";'],
  ["an import from a folder of the same rank", importDirection, "src/usage/x.ts", 'import { x } from "../events/x.ts";'],
  ["a dynamic import upwards", importDirection, "src/lib/x.ts", 'const x = await import("../routes.ts");'],
  ["an export from a higher folder", importDirection, "src/lib/x.ts", 'export * from "../http/codes.ts";'],
  ["an import for its side effects", importDirection, "src/lib/x.ts", 'import "../main.ts";'],
  ["a feature in api", importDirection, "src/api/server.ts", 'import { x } from "../messages/message.ts";'],
  ["the server in a feature's routes", importDirection, "src/messages/routes.ts", 'import { x } from "../api/server.ts";'],
  ["a page in another page", consoleDirection, "console/src/keys/x.tsx", 'import { x } from "../usage/x.ts";'],
  ["a page in the shared code of pages", consoleDirection, "console/src/ui/x.tsx", 'import { x } from "../keys/x.ts";'],
  ["a file of the service in the console", consoleDirection, "console/src/keys/x.tsx", 'import { x } from "../../../src/links/x.ts";'],
  ["Node in shared code", browserCode, "src/lib/csv.ts", 'import { x } from "node:fs";'],
  ["a folder without a rank", importDirection, "src/attic/x.ts", ""],
  ["the configuration in a feature", configReaders, "src/messages/accept.ts", 'import { readConfig } from "../config.ts";'],
  ["only the type of the configuration", configReaders, "src/api/server.ts", 'import type { Config } from "../config.ts";'],
  ["another's queries", privateQueries, "src/messages/accept.ts", 'import { x } from "../access/queries.ts";'],
  ["a folder named utils", goodNames, "src/utils/x.ts", ""],
  ["a file named types", goodNames, "src/messages/types.ts", ""],
  ["a barrel", goodNames, "src/messages/index.ts", ""],
  ["a nested folder", depth, "src/messages/sms/x.ts", ""],
  ["process.env", environmentReader, "src/cli/x.ts", "const x = process.env;"],
  ["process['env']", environmentReader, "src/cli/x.ts", 'const x = process["env"];'],
  ["a long file", length, "src/lib/x.ts", "x\n".repeat(401)],
  ["a file without a purpose", purpose, "src/lib/x.ts", "const x = 1;\n"],
  ["an empty purpose", purpose, "src/lib/x.ts", "/** */\n"],
  ["test.only", reasonedSkips, "src/lib/x.test.ts", 'test.only("x", () => {});'],
  ["test.skip", reasonedSkips, "test/x.test.ts", 'test.skip("x", () => {});'],
  ["skip: true", reasonedSkips, "test/x.test.ts", 'test("x", { skip: true }, () => {});'],
  ["skip() without a reason", reasonedSkips, "test/x.test.ts", "context.skip();"],
  ["console", noConsole, "src/lib/x.ts", "console.log(1);"],
  ["SQL in a verb", sqlHomes, "src/messages/accept.ts", "db.rows(sql`\n  select id from messages`);"],
  ["prepared SQL in a verb", sqlHomes, "src/messages/accept.ts", "prepare(`update messages`);"],
  ["a cast into the driver", driverFence, "src/database/x.ts", 'import pg from "pg";\nconst x = client as unknown as Inner;'],
  ["a package of the driver", driverFence, "src/events/x.ts", 'import { parse } from "pg-protocol";'],
  ["a file of the driver", driverFence, "src/events/x.ts", 'import utils from "pg/lib/utils.js";'],
  ["more SQL in the service", sqlHomes, "src/service/start-service.ts", "sql`select 1 from messages`"],
];

for (const [what, rule, path, text] of REFUSED) {
  test(`${what} is reported`, () => {
    const [message, ...more] = rule({ path, text });
    assert.ok(message?.startsWith(path), `said: ${message}`);
    assert.deepEqual(more, []);
  });
}

const FINE: readonly Sample[] = [
  ["an import downwards", importDirection, "src/messages/x.ts", 'import { x } from "../model/id.ts";'],
  ["an import of messages on the send page", consoleDirection, "console/src/send/x.tsx", 'import { x } from "../messages/x.ts";'],
  ["an import of a package", importDirection, "src/lib/x.ts", 'import pino from "pino";'],
  ["a test that imports another feature", importDirection, "src/messages/x.test.ts", 'import { compile } from "../http/validate.ts";'],
  ["a migration", depth, "src/database/migrations/0001_x.sql", ""],
  ["a provider's folder", depth, "src/providers/smpp/session.ts", ""],
  ["a skip with a reason", reasonedSkips, "test/x.test.ts", 'test("x", { skip: "until the link is there" }, () => {});'],
  ["the public types of the driver", driverFence, "src/database/x.ts", 'import type pg from "pg";\nconst x: pg.Client = y;'],
  ["isTTY", environmentReader, "src/cli/x.ts", "process.stdout.isTTY;"],
];

for (const [what, rule, path, text] of FINE) test(`${what} is permitted`, () => assert.deepEqual(rule({ path, text }), []));

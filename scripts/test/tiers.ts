/** The test files: their groups, the two tiers, and the processes that run them. */
import { globSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, resolve } from "node:path";
import { mean, type Budget } from "./budget.ts";

const ROOT = join(import.meta.dirname, "..", "..");

type Group = {
  pattern: string;
  /** The number of processes that the files share; without it each file has its own. Loading the service and warming it up takes longer than
   *  most files, so only files that start processes themselves or load a machine have their own. */
  processes?: number;
  /** Only these files are in the first tier. */
  first?: readonly string[];
  /** These files are not in the first tier. */
  rest?: readonly string[];
};

/** The tiers in one place. The first tier is `npm test`; `npm run test:full` runs everything. A group without `first` and `rest` is in the first
 *  tier. */
const GROUPS: Readonly<Record<string, Group>> = {
  // This makes thousands of TLS connections.
  src: { pattern: "src/**/*.test.ts", processes: 2, rest: ["tls-threads"] },
  api: { pattern: "test/api/*.test.ts", processes: 4 },
  delivery: { pattern: "test/delivery/*.test.ts", processes: 4 },
  webhooks: { pattern: "test/webhooks/*.test.ts", processes: 2 },
  templates: { pattern: "test/templates/*.test.ts", processes: 1 },
  // These compare us with other programs or their packages, run the samples of a page, send random bytes, send thousands of receipts, or go through all contents or words.
  carriers: {
    pattern: "test/carriers/*.test.ts",
    processes: 2,
    rest: [
      "carrier-aws",
      "carrier-examples",
      "content-delivery",
      "docs-provider",
      "kannel-peer",
      "link-ownership",
      "opt-out-forms",
      "provider-smpp-fuzz",
      "provider-smpp-peers",
      "provider-smpp-tshark",
      "shared-ids",
      "twilio-peers",
    ],
  },
  // These read a million rows, send files, or start the service with many wrong settings.
  cli: { pattern: "test/cli/*.test.ts", processes: 3, rest: ["bulk-memory", "media", "send-csv", "start-errors"] },
  console: { pattern: "console/test/*.test.ts", processes: 1 },
  // These install the package, generate a client, or upload large files.
  sdk: { pattern: "sdk/test/*.test.ts", processes: 2, rest: ["generated-client", "media", "package"] },
  // One journey for each area of the console.
  browser: { pattern: "test/browser/*.test.ts", first: ["journeys"] },
  // kill -9, a crash, and two nodes.
  faults: { pattern: "test/faults/*.test.ts", first: ["crash", "delivery-nodes", "idempotency-nodes", "kill"] },
  // These install packages, clone the repository, or start other programs or runs of tests.
  tools: {
    pattern: "test/tools/*.test.ts",
    rest: [
      "caddy",
      "code-samples",
      "containers",
      "docs-samples",
      "docs-webhooks",
      "examples",
      "generators",
      "helm-chart",
      "package",
      "packaging",
      "readme-bash",
      "readme-sh",
      "redocly",
      "release",
      "rolling-restart",
      "supply-chain",
      "systemd-unit",
      "test-runner",
      "workflows",
    ],
  },
  firefox: { pattern: "test/firefox/*.test.ts", first: [] },
  "sdk-python": { pattern: "sdk-python/test/*.test.ts", first: [] },
};

/** Groups that run only when they are named: `pace` measures speed on a quiet machine, and `ha` needs root on Debian. */
const SEPARATE: Readonly<Record<string, Group>> = {
  pace: { pattern: "test/pace/*.test.ts" },
  ha: { pattern: "test/ha/*.test.ts" },
};

const ALL_GROUPS: Readonly<Record<string, Group>> = { ...GROUPS, ...SEPARATE };

/** Tests that open the built console or documentation, by the start of their paths. */
const NEED_PAGES = [
  "test/browser/",
  "test/firefox/",
  "test/api/console-pages",
  "test/api/http.test.ts",
  "test/api/public-pages",
  "test/faults/database-user",
  "test/tools/docs-pages",
  "test/tools/package",
  "test/tools/readme",
];

export type Tier = "first" | "rest" | "full";

export const needsPages = (files: readonly string[]): boolean => files.some((file) => NEED_PAGES.some((start) => file.startsWith(start)));

/** Tests of pace have the machine to themselves. */
export const needsQuiet = (files: readonly string[]): boolean => files.some((file) => file.startsWith("test/pace/"));

/** Names in the lists of a tier that are not files. */
export const unknownNames = (): string[] =>
  Object.values(GROUPS).flatMap((group) => {
    const existing = new Set(filesOf(group).map((file) => basename(file, ".test.ts")));
    return [...(group.first ?? []), ...(group.rest ?? [])].filter((name) => !existing.has(name));
  });

/** The files of each process of a tier. */
export const processesOfTier = (tier: Tier): string[][] =>
  inOrder(
    Object.values(GROUPS).flatMap((group) => {
      const inFirst = (file: string): boolean =>
        group.first?.includes(basename(file, ".test.ts")) ?? group.rest?.includes(basename(file, ".test.ts")) !== true;
      return shared(
        filesOf(group).filter((file) => tier === "full" || inFirst(file) === (tier === "first")),
        group,
      );
    }),
  );

/** The files of each process that names on the command line stand for: test files, groups, or folders of groups. */
export const processesOfNames = (names: readonly string[]): string[][] =>
  inOrder(
    names.flatMap((name) => {
      const path = relative(ROOT, resolve(name));
      const group = ALL_GROUPS[name] ?? Object.values(ALL_GROUPS).find(({ pattern }) => dirname(pattern).replace("/**", "") === path);
      if (group !== undefined) return shared(filesOf(group), group);
      if (statSync(name, { throwIfNoEntry: false })?.isFile() === true) return [[path]];
      throw new Error(`${name} is neither a test file nor a group. The groups are ${Object.keys(ALL_GROUPS).join(", ")}`);
    }),
  );

const filesOf = ({ pattern }: Group): string[] => globSync(pattern, { cwd: ROOT });

/** Divides files among processes, the most expensive file first, each to the process that has least to do. */
function shared(files: readonly string[], { processes = files.length }: Group): string[][] {
  const parts: string[][] = Array.from({ length: Math.min(processes, files.length) }, () => []);
  for (const file of files.toSorted((one, other) => costOf([other]) - costOf([one])))
    parts.reduce((least, part) => (costOf(part) < costOf(least) ? part : least)).push(file);
  return parts;
}

/** The most expensive process first, so that it is not the last to end. */
const inOrder = (processes: readonly string[][]): string[][] => processes.toSorted((one, other) => costOf(other) - costOf(one));

/** `budget_seconds`: of the processor, for all of `npm test`. `reference_ms`: what the fixed program of `reference-work.ts` took in the run
 *  that was recorded. `files`: what each file took in it. */
type Recorded = { budget_seconds: number; reference_ms: number; files: Record<string, number> };

const RECORDED_FILE = join(import.meta.dirname, "processor-time.json");
const recorded = JSON.parse(readFileSync(RECORDED_FILE, "utf8")) as Recorded;

export const BUDGET: Budget = { budgetMs: recorded.budget_seconds * 1_000, referenceMs: recorded.reference_ms };

// A file that was never recorded may be expensive, and runs early.
const UNKNOWN_SECONDS = 20;

const costOf = (files: readonly string[]): number => files.reduce((sum, file) => sum + (recorded.files[file] ?? UNKNOWN_SECONDS), 0);

/** Writes the times of these files and of the fixed program into the table, and removes files that no longer exist. */
export function record(ended: readonly { file: string; processorMs: number | undefined }[], references: readonly number[]): void {
  const times = new Map(Object.entries(recorded.files));
  // A file that was killed has no time.
  for (const { file, processorMs } of ended) if (processorMs !== undefined) times.set(file, Math.round(processorMs / 100) / 10);
  const existing = [...times].filter(([file]) => statSync(join(ROOT, file), { throwIfNoEntry: false }) !== undefined);
  const files = Object.fromEntries(existing.toSorted(([one], [other]) => (one < other ? -1 : 1)));
  const reference_ms = references.length === 0 ? recorded.reference_ms : Math.round(mean(references));
  writeFileSync(RECORDED_FILE, `${JSON.stringify({ ...recorded, reference_ms, files }, undefined, 2)}\n`);
}

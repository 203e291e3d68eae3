/** The report of a run: the promises, the faults and the load, as a table or as JSON. */
import type { Clients } from "./clients.ts";
import type { Cluster } from "./cluster.ts";
import type { Evidence } from "./evidence.ts";
import type { Verdict } from "./verdict.ts";

export type Report = {
  seed: number;
  seconds: number;
  promises: { promise: string; checked: number; violations: number; first: string[] }[];
  faults: Record<string, number>;
  load: Record<string, number>;
  folder: string | null;
};

// Enough to begin an investigation.
const SHOWN_VIOLATIONS = 5;

export const toRows = (verdicts: readonly Verdict[]): Report["promises"] =>
  verdicts.map(({ promise, checked, violations }) => ({
    promise,
    checked,
    violations: violations.length,
    first: violations.slice(0, SHOWN_VIOLATIONS),
  }));

export const hasViolation = ({ promises }: Report): boolean => promises.some(({ violations }) => violations > 0);

/** The drawn faults, and the races that the clients began. */
export const countFaults = (drawn: ReadonlyMap<string, number>, { cancellations, optOuts }: Clients): Record<string, number> => ({
  ...inOrder(drawn),
  "cancellation race": cancellations.length,
  "opt-out race": optOuts.length,
});

export function measureLoad({ api, carrier, nodes, readers, steady, recovered }: Cluster, clients: Clients, evidence: Evidence) {
  const statuses = Map.groupBy(evidence.messages.values(), ({ status, errorCode }) => `messages ${status} ${errorCode}`.trimEnd());
  return {
    keys: clients.requests.length,
    requests: api.traffic.requests,
    ...inOrder(api.traffic.responses.entries().map(([status, count]) => [`responses ${status}`, count])),
    ...inOrder(statuses.entries().map(([status, all]) => [status, all.length])),
    events: evidence.events.length,
    "submissions to carriers": carrier.submissions.length,
    "submissions without a response": carrier.submissions.filter(({ outcome }) => outcome === "dropped").length,
    "webhook calls": steady.receiver.calls + recovered.receiver.calls,
    "stream connections": readers.reduce((sum, { connections }) => sum + connections, 0),
    "node starts": nodes.reduce((sum, { starts }) => sum + starts, 0),
  };
}

/** The counts in the order of their names. */
const inOrder = (counts: Iterable<readonly [string, number]>): Record<string, number> =>
  Object.fromEntries([...counts].toSorted(([one], [other]) => (one < other ? -1 : 1)));

export function formatReport({ seed, seconds, promises, faults, load, folder }: Report): string {
  const lines = [
    table([["promise", "checked", "violations"], ...promises.map((row) => [row.promise, row.checked, row.violations])]),
    ...promises.flatMap(({ promise, first }) => first.map((text) => `  ${promise}: ${text}`)),
    "",
    table([["fault", "count"], ...Object.entries(faults)]),
    "",
    table([["load", "count"], ...Object.entries(load)]),
    "",
    `seed ${seed}, ${Math.round(seconds)} s${folder === null ? "" : `, kept in ${folder}`}`,
  ];
  return `${lines.join("\n")}\n`;
}

function table(rows: readonly (readonly (string | number)[])[]): string {
  const widths = rows[0]?.map((_, column) => Math.max(...rows.map((row) => String(row[column]).length))) ?? [];
  const cell = (value: string | number, column: number): string =>
    typeof value === "number" ? String(value).padStart(widths[column] ?? 0) : value.padEnd(widths[column] ?? 0);
  return rows.map((row) => row.map(cell).join("  ").trimEnd()).join("\n");
}

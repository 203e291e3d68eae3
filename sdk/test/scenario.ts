/** The scenarios that all SDKs run: their file, their variables, and what the proxy must have received. */
import assert from "node:assert/strict";
import { randomBytes, randomUUID } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Webhook } from "standardwebhooks";
import { FaultyProxy, problem, type Behavior } from "./faulty-proxy.ts";

export const SCENARIOS_FILE = join(import.meta.dirname, "..", "scenarios.json");

/** A fault of the proxy, or a problem response in short. */
type Fault = Behavior | { problem: { status: number; code: string; retry_after: number } };

export type Raised = Readonly<Record<string, unknown>> & { kind: string };
export type Step = {
  /** The resource and the method, such as `messages.send`. */
  call?: string;
  ids?: readonly string[];
  input?: Readonly<Record<string, unknown>>;
  options?: Readonly<Record<string, unknown>>;
  /** Which part of a list is read. */
  take?: "first_page" | "second_page" | "all";
  /** The text from which an idempotency key is derived. */
  key_from?: string;
  verify?: Readonly<{ body: string; headers: unknown; secret: unknown }>;
  /** The members that the result must have. */
  expect?: Readonly<Record<string, unknown>>;
  /** The metadata that the response must have. */
  response?: Readonly<Record<string, unknown>>;
  raises?: Raised;
  save?: string;
};
export type Scenario = {
  name: string;
  faults?: readonly Fault[];
  client?: Readonly<Record<string, unknown>>;
  steps: readonly Step[];
  /** `requests` that the proxy received, with so many different `keys`, and a time between the first two. */
  heard?: { requests: number; keys?: number; least_seconds_between?: number };
};

export const readScenarios = (): readonly Scenario[] =>
  (JSON.parse(readFileSync(SCENARIOS_FILE, "utf8")) as { scenarios: readonly Scenario[] }).scenarios;

/** The variables of one run of a scenario. */
export function newVariables(): Record<string, unknown> {
  const [secret, other] = [randomBytes(32), randomBytes(32)].map((bytes) => `whsec_${bytes.toString("base64")}`);
  assert.ok(secret !== undefined);
  const body = JSON.stringify({ id: "evt_1", type: "webhook.test", environment: "test", data: { text: "é 🐦" } });
  const signed = (at: Date): Record<string, string> => ({
    "Webhook-Id": "evt_1",
    "Webhook-Timestamp": String(Math.floor(at.getTime() / 1_000)),
    "Webhook-Signature": new Webhook(secret).sign("evt_1", at, body),
  });
  return {
    key: randomUUID(),
    reference: randomUUID(),
    in_an_hour: new Date(Date.now() + 3_600_000).toISOString(),
    other_secret: other,
    webhook: {
      body,
      secret,
      headers: signed(new Date()),
      old_headers: signed(new Date(Date.now() - 600_000)),
      forged_body: body.replace("evt_1", "evt_2"),
    },
  };
}

const toBehavior = (fault: Fault): Behavior =>
  "problem" in fault ? problem(fault.problem.status, fault.problem.code, { "retry-after": String(fault.problem.retry_after) }) : fault;

/** Runs a scenario with the function against a proxy that has its faults, and compares the requests that the proxy received. */
export async function playScenario(scenario: Scenario, server: { url: string }, run: (url: string) => Promise<void>): Promise<void> {
  await using proxy = await FaultyProxy.to(server);
  proxy.next.push(...(scenario.faults ?? []).map(toBehavior));
  await run(proxy.url);
  if (scenario.heard === undefined) return;
  const { requests, keys, least_seconds_between: seconds } = scenario.heard;
  assert.equal(proxy.heard.length, requests, "the number of requests");
  if (keys !== undefined) assert.equal(new Set(proxy.keys.filter((key) => key !== undefined)).size, keys, "the number of keys");
  const [first, second] = proxy.heard;
  if (seconds !== undefined) assert.ok((second?.at ?? 0) - (first?.at ?? 0) >= seconds * 1_000, "the time between the first two requests");
}

/** The TypeScript SDK runs the scenarios of sdk/scenarios.json. sdk-python/test/scenarios.test.ts runs the same file. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { startGodwit, type Godwit as Server } from "../../test/support/harness.ts";
import {
  ApiError,
  ConnectionError,
  Godwit,
  GodwitError,
  idempotencyKeyFrom,
  Pages,
  TimeoutError,
  WebhookError,
  type Call,
  type GodwitOptions,
  type WebhookHeaders,
} from "../src/index.ts";
import { newVariables, playScenario, readScenarios, type Raised, type Scenario, type Step } from "./scenario.ts";

type Json = Record<string, unknown>;
type Method = (...input: unknown[]) => Call<Json> | Pages<Json>;

let server: Server;
let apiKey: string;
before(async () => {
  server = await startGodwit();
  await server.unlimited();
  apiKey = await server.key();
});
after(() => server.stop());

for (const scenario of readScenarios())
  test(scenario.name, () => playScenario(scenario, server, (url) => runSteps(scenario, { baseUrl: url, apiKey })));

async function runSteps({ client: given = {}, steps }: Scenario, options: GodwitOptions): Promise<void> {
  const client = new Godwit({ ...options, ...toOptions(given) });
  const variables = newVariables();
  for (const step of steps) {
    const resolved = resolve(step, variables) as Step;
    if (resolved.raises === undefined) {
      const { data, response } = await runStep(client, resolved);
      assertIncludes(data, resolved.expect ?? {});
      assertIncludes(response, toOptions(resolved.response ?? {}));
      if (step.save !== undefined) variables[step.save] = data;
    } else assertRaised(await failure(runStep(client, resolved)), resolved.raises);
  }
}

/** Replaces `$name.member` by the value of the variable. */
function resolve(value: unknown, variables: Json): unknown {
  if (typeof value === "string" && value.startsWith("$"))
    return value
      .slice(1)
      .split(".")
      .reduce<unknown>((found, name) => (found as Json)[name], variables);
  if (Array.isArray(value)) return value.map((each) => resolve(each, variables));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, resolve(each, variables)]));
}

const camelCase = (name: string): string => name.replaceAll(/_(\w)/g, (_, letter: string) => letter.toUpperCase());

/** Converts names and units: `timeout` in seconds is `timeoutMs` here. */
const toOptions = (given: Readonly<Json>): Json =>
  Object.fromEntries(
    Object.entries(given).map(([name, value]) =>
      name.endsWith("timeout") ? [`${camelCase(name)}Ms`, Number(value) * 1_000] : [camelCase(name), value],
    ),
  );

async function runStep(client: Godwit, step: Step): Promise<{ data: Json; response: unknown }> {
  const { call = "", ids = [], input, options = {}, take, verify, key_from: text } = step;
  if (text !== undefined) return { data: { key: await idempotencyKeyFrom(text) }, response: {} };
  if (verify !== undefined) {
    const event = await client.webhooks.verify(verify.body, verify.headers as WebhookHeaders, verify.secret as string | string[]);
    return { data: event, response: {} };
  }
  const [resource = "", method = ""] = call.split(".").map(camelCase);
  const owner = (client as unknown as Record<string, Record<string, Method>>)[resource];
  const made = owner?.[method]?.(...ids, ...(input === undefined ? [] : [input]), toOptions(options));
  assert.ok(made !== undefined, call);
  if (made instanceof Pages) return { data: await taken(made, take), response: {} };
  const response = await made.withResponse();
  return { data: response.data, response };
}

async function taken(list: Pages<Json>, take: Step["take"]): Promise<Json> {
  if (take === "all") {
    const data = await Array.fromAsync(list);
    return { count: data.length, data };
  }
  const first = await list;
  const page = take === "second_page" ? await first.nextPage() : first;
  assert.ok(page !== null);
  return { ...page, count: page.data.length };
}

async function failure(work: Promise<unknown>): Promise<unknown> {
  try {
    await work;
  } catch (error) {
    return error;
  }
  return assert.fail("the step did not fail");
}

const KINDS: Readonly<Record<string, typeof GodwitError | typeof ApiError | typeof WebhookError>> = {
  api: ApiError,
  connection: ConnectionError,
  timeout: TimeoutError,
  webhook: WebhookError,
};

function assertRaised(error: unknown, { kind, where, has_request_id: hasRequestId, retry_after: retryAfter, ...members }: Raised): void {
  assert.ok(error instanceof GodwitError && error instanceof (KINDS[kind] ?? Error), String(error));
  assertIncludes(error, toOptions(members));
  if (hasRequestId === true) assert.match(error.requestId ?? "", /^req_/);
  const faults = error instanceof ApiError ? error.errors.map((fault) => fault.where) : [];
  if (where !== undefined) assert.deepEqual(faults, where);
  if (retryAfter !== undefined) assert.equal((error as ApiError).retryAfterSeconds, retryAfter);
}

/** Asserts that the value has the expected members. It may have others. */
function assertIncludes(value: unknown, expected: unknown): void {
  if (typeof expected !== "object" || expected === null) return assert.equal(value, expected);
  for (const [name, member] of Object.entries(expected)) assertIncludes((value as Json)[name], member);
}

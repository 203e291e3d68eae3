/** No request may hold the event loop: the worst-case requests of every route and of every carrier's callback, against a service whose turns
 *  are measured in processor time of its main thread. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { after, before, describe, test } from "node:test";
import { request as send } from "undici";
import { MeasuredService, type Cost } from "../../fuzz/service.ts";
import { allRoutes } from "../../src/routes.ts";
import { createDatabase } from "../support/database.ts";
import { casesOf, limitOf, referenceCase, routeName, type Case } from "../../fuzz/worst-case.ts";
import { carrierCases, tokenCases } from "../../fuzz/worst-case-forms.ts";

const MAX_TURN_MS = 50;
const MAX_RATIO = 20;
// A request of a few hundred microseconds cannot be measured exactly.
const LEAST_REFERENCE_MS = 1;
const MAX_ERROR_BYTES = 65_536;
// The largest bound of a response to a request with a body, in docs/limits.md.
const MAX_RESPONSE_BYTES = 2_097_152;
// A collection of garbage, or code that is compiled, may fall into any request. A worst case is slow every time.
const TRIES = 5;
const WARM_UPS = 20;

const ROUTES = allRoutes({} as never);

let service: MeasuredService;
before(async () => {
  service = await MeasuredService.start({ roles: "api", databaseUrl: await createDatabase() });
});
after(() => service.stop());

type Reply = { status: number; bytes: number };

async function perform({ method, path, headers, body, isIdempotent }: Case): Promise<Reply> {
  const response = await send(`${service.url}${path}`, {
    method: method as "POST",
    headers: { authorization: `Bearer ${service.key.secret}`, ...headers, ...(isIdempotent ? { "idempotency-key": randomUUID() } : {}) },
    body,
    dispatcher: service.dispatcher,
  });
  return { status: response.statusCode, bytes: (await response.body.bytes()).length };
}

/** The lower of the costs of several tries, which end as soon as the limits are met. */
async function costOf(each: Case, maxCpuMs: number): Promise<Cost & Reply> {
  let best: (Cost & Reply) | undefined;
  for (let count = 0; count < TRIES; count += 1) {
    const { result, worstTurnMs, cpuMs } = await service.measure(() => perform(each));
    best = {
      ...result,
      worstTurnMs: Math.min(worstTurnMs, best?.worstTurnMs ?? Infinity),
      cpuMs: Math.min(cpuMs, best?.cpuMs ?? Infinity),
    };
    if (best.worstTurnMs <= MAX_TURN_MS && best.cpuMs <= maxCpuMs) break;
  }
  return best ?? assert.fail("there is a first try");
}

/** The processor time of a valid request, after the code was compiled. */
async function referenceMs(each: Case): Promise<number> {
  let status = 0;
  for (let count = 0; count < WARM_UPS; count += 1) status = (await perform(each)).status;
  assert.notEqual(status, 400, `${each.name} is not valid: add the fields that its rules require to fuzz/worst-case.ts`);
  const { cpuMs } = await service.measure(async () => {
    for (let count = 0; count < TRIES; count += 1) await perform(each);
  });
  return Math.max(cpuMs / TRIES, LEAST_REFERENCE_MS);
}

type Seen = Cost & Reply & { name: string; isValid: boolean };

async function assertBounded(cases: Iterable<Case>, reference: Case, say: (line: string) => void): Promise<void> {
  const maxCpuMs = MAX_RATIO * (await referenceMs(reference));
  const seen: Seen[] = [];
  for (const each of cases) {
    const { name, isValid = false } = each;
    seen.push({ name, isValid, ...(await costOf(each, isValid ? Infinity : maxCpuMs)) });
  }
  const worst = seen.toSorted((one, other) => other.worstTurnMs - one.worstTurnMs)[0] ?? assert.fail("there are cases");
  const dearest = seen.toSorted((one, other) => other.cpuMs - one.cpuMs)[0] ?? worst;
  say(`${seen.length} requests; longest turn ${worst.worstTurnMs.toFixed(1)} ms: ${worst.name}`);
  say(`most processor time ${dearest.cpuMs.toFixed(1)} of ${maxCpuMs.toFixed(1)} ms allowed: ${dearest.name}`);
  const faults = seen.filter(
    ({ status, bytes, worstTurnMs, cpuMs, isValid }) =>
      status >= 500 ||
      bytes > (status >= 400 ? MAX_ERROR_BYTES : MAX_RESPONSE_BYTES) ||
      worstTurnMs > MAX_TURN_MS ||
      (cpuMs > maxCpuMs && !isValid),
  );
  assert.deepEqual(faults, []);
}

describe("the largest bodies of the worst shapes", () => {
  for (const route of ROUTES.filter(({ body }) => body !== undefined))
    test(`of ${routeName(route)}`, async (context) =>
      assertBounded(casesOf(route), referenceCase(route, limitOf(route)), (line) => context.diagnostic(line)));

  test("of the token endpoint", async (context) => {
    const { reference, cases } = tokenCases(service.key);
    await assertBounded(cases, reference, (line) => context.diagnostic(line));
  });

  for (const { provider, reference, cases } of carrierCases())
    test(`of the callback of ${provider}`, async (context) => assertBounded(cases, reference, (line) => context.diagnostic(line)));
});

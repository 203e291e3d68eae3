/** The lists of values that the console offers match those of the service. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { ACTIONS as AUDITED, AuditEventRecord } from "../../src/audit/audit-event.ts";
import { SCOPE_PRESETS, SCOPES } from "../../src/access/scope.ts";
import { COMPATIBLE_APIS } from "../../src/compatible-apis.ts";
import { EVENT_TYPES } from "../../src/events/event.ts";
import { ACTOR_TYPES as ACTORS } from "../../src/model/origin.ts";
import { STATUSES as KNOWN } from "../../src/messages/states.ts";
import { ACTIONS, ACTOR_TYPES, TARGET_TYPES } from "../src/audit/actions.ts";
import { KINDS } from "../src/endpoints/event-types.ts";
import { CREDENTIAL_KINDS } from "../src/keys/credential-kinds.ts";
import { presetOf, PRESETS, SCOPE_TEXTS, scopesOf } from "../src/keys/scopes.ts";
import { apiTitle } from "../src/lib/format.ts";
import { countOutcomes, formatP95 } from "../src/lib/outcomes.ts";
import { STATUSES } from "../src/messages/statuses.ts";
import { SIMULATOR_RECIPIENTS } from "../src/send/simulator-recipients.ts";

test("the statuses are those of the service", () => {
  assert.deepEqual(STATUSES, [...KNOWN]);
});

test("the event types are those of the service, without webhook.test", () => {
  assert.deepEqual(
    KINDS.flatMap(({ types }) => types),
    EVENT_TYPES.filter((type) => type !== "webhook.test"),
  );
});

// The log of an account has no changes of the whole installation.
const isOfInstallation = (name: string): boolean => /^(signing_key|tier)\b/.test(name);

test("the actions, actors and targets of the audit log are those of the service", () => {
  assert.deepEqual(
    ACTIONS.filter((action) => !action.endsWith(".*")),
    AUDITED.filter((action) => !isOfInstallation(action)),
  );
  assert.deepEqual(ACTOR_TYPES, [...ACTORS]);
  const targets = AuditEventRecord.properties.target.properties.type as unknown as { "x-extensible-enum": string[] };
  assert.deepEqual(
    TARGET_TYPES,
    targets["x-extensible-enum"].filter((type) => !isOfInstallation(type)),
  );
});

test("every scope of the service has a description, and each preset is recognized by its scopes", () => {
  assert.deepEqual(Object.keys(SCOPE_TEXTS), [...SCOPES]);
  for (const preset of PRESETS) assert.equal(presetOf(scopesOf(preset, SCOPES), SCOPES), preset);
  const presets = PRESETS.map((preset) => [preset.id, scopesOf(preset, SCOPES)]);
  assert.deepEqual(
    Object.fromEntries(presets),
    Object.fromEntries(Object.entries(SCOPE_PRESETS).map(([name, { scopes }]) => [name, [...scopes]])),
    "the presets are those of the command line",
  );
  assert.equal(presetOf(["keys:write"], SCOPES), undefined);
});

test("credentials can be created for every compatible API, with settings that it knows", () => {
  for (const { source, title, check } of COMPATIBLE_APIS) {
    assert.equal(apiTitle(source), title);
    const kinds = Object.values(CREDENTIAL_KINDS).filter((kind) => kind.source === source);
    assert.notEqual(kinds.length, 0);
    for (const { settings, fields } of kinds) {
      const names = [...Object.keys(settings), ...fields.map(({ name }) => name)];
      const faults = check({ userName: null, secret: null, settings: Object.fromEntries(names.map((name) => [name, "0"])), scopes: [] });
      assert.deepEqual(
        faults.filter(({ code }) => code === "unknown_field"),
        [],
      );
    }
  }
});

test("each recipient of the simulator, from 2 to 19, is listed once", () => {
  const numbers = SIMULATOR_RECIPIENTS.map(({ number }) => number).toSorted();
  assert.deepEqual(
    numbers,
    Array.from({ length: 18 }, (_, at) => `+150055500${String(at + 2).padStart(2, "0")}`),
  );
});

test("every status counts for one outcome, including an unknown status", () => {
  const all = Object.fromEntries([...STATUSES, "tomorrow"].map((status) => [status, 1]));
  assert.deepEqual(countOutcomes(all), { delivered: 2, notDelivered: 3, inProgress: 4, other: 3 });
});

test("the texts avoid the words that the glossary replaces", () => {
  const folder = join(import.meta.dirname, "..", "src");
  const replaced = /\b(?:answer(?:s|ed)?|told|alone|whoever|nobody|anew|bought|under way|handed over)\b/i;
  const found = globSync("**/*.{ts,tsx}", { cwd: folder }).flatMap((path) =>
    readFileSync(join(folder, path), "utf8")
      .split("\n")
      .filter((line) => replaced.test(line))
      .map((line) => `${path}: ${line.trim()}`),
  );
  assert.deepEqual(found, []);
});

test("the 95th percentile is shown only for enough delivered messages", () => {
  const time = { p50: 966, p95: 1_100 };
  assert.equal(formatP95({ by_status: { delivered: 19, failed: 5 }, time_to_delivered_ms: time }), "–");
  assert.equal(formatP95({ by_status: { delivered: 19, read: 1 }, time_to_delivered_ms: time }), "1.1 s");
  assert.equal(formatP95({ by_status: {}, time_to_delivered_ms: null }), "–");
});

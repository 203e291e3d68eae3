/** Tests the connection of a link for its account: bounded in time and in number, and without a second connection to a carrier that allows
 *  one. */
import { Problem } from "../http/problem.ts";
import { nullable, openEnum, timestamp, Type, type Static } from "../http/schema.ts";
import type { AuditedCall } from "../idempotency/once.ts";
import { idKey } from "../model/id.ts";
import type { Log } from "../model/log.ts";
import { isoTime } from "../lib/time.ts";
import { failed, succeeded, TEST_STEPS, type ConnectionTest } from "../providers/connection-test.ts";
import type { Provider } from "../providers/provider.ts";
import { readCreatedLink } from "./link-definition.ts";
import { LINKS } from "./link-setup.ts";
import { recordSetup, type SetupContext } from "./setup.ts";
import type { StoredLink } from "./stored-link.ts";

const TEST_MS = 15_000;
// A person tries a few settings in a row. A program that tries ports gets nowhere.
const MAX_TESTS = 6;
// Longer than nodes need to follow a change and to report the states after it.
const SETTLED_MS = 60_000;
const PER_MS = 60_000;

export const LinkTestResult = Type.Object(
  {
    object: Type.Literal("link_test"),
    link_id: Type.String({ description: "The id of the link." }),
    ok: Type.Boolean({ description: "Whether the connection works." }),
    step: nullable(openEnum(TEST_STEPS, "The step that failed. Null if none failed.")),
    detail: Type.String({ description: "The result, for people.", examples: ["The carrier accepted the bind."] }),
    tested_at: timestamp("The time of the test."),
  },
  { title: "LinkTest", description: "The test of a connection to a carrier." },
);
export type LinkTestResult = Static<typeof LinkTestResult>;

export type LinkTesterParts = { setup: SetupContext; providers: Readonly<Record<string, Provider<never>>>; log: Log };

export class LinkTester {
  readonly #parts: LinkTesterParts;
  /** The times of the latest tests of this node, by account. */
  readonly #tests = new Map<string, number[]>();

  constructor(parts: LinkTesterParts) {
    this.#parts = parts;
  }

  async test(call: AuditedCall, id: string): Promise<LinkTestResult> {
    const { setup } = this.#parts;
    const { row: stored } = await LINKS.findRow(setup, setup.db, call.credential, id);
    this.#count(idKey(call.credential.accountId));
    const isBound = await this.#isBound(stored);
    const result = isBound ? succeeded("The link is connected.") : await this.#connect(stored);
    await setup.db.transaction((tx) =>
      recordSetup(setup, tx, call, { action: "link.tested", target: { type: "link", id }, changes: { ok: result.step === null } }),
    );
    return { object: "link_test", link_id: id, ok: result.step === null, ...result, tested_at: isoTime(setup.clock.now()) };
  }

  /** A carrier may count binds, so a link that is bound is not bound again. Its state says nothing about settings that have just changed, and
   *  a link of another protocol is called connected before it has sent anything. */
  async #isBound(stored: StoredLink): Promise<boolean> {
    const { setup } = this.#parts;
    if (stored.definition.provider !== "smpp" || setup.clock.now() - stored.updated_at.getTime() < SETTLED_MS) return false;
    return (await LINKS.record(setup, setup.db, stored)).state === "connected";
  }

  async #connect(stored: StoredLink): Promise<ConnectionTest> {
    const { setup, providers, log } = this.#parts;
    const read = readCreatedLink(stored, setup.gate);
    if (read.kind === "faulty") return failed("address", read.faults.map(({ detail }) => detail).join(" "));
    if (read.kind === "refused") return failed("address", `The host ${read.fault.detail}.`);
    const { provider, settings } = read.link;
    const tested = await providers[provider]?.test?.(settings as never, log, AbortSignal.timeout(TEST_MS));
    return tested ?? failed("response", "Links of this provider cannot be tested.");
  }

  #count(account: string): void {
    const nowMs = performance.now();
    const recent = (this.#tests.get(account) ?? []).filter((atMs) => atMs > nowMs - PER_MS);
    const [oldest] = recent;
    if (recent.length >= MAX_TESTS && oldest !== undefined)
      throw new Problem("rate_limit_exceeded", {
        detail: `an account can test its links at most ${MAX_TESTS} times per minute`,
        headers: { "retry-after": String(Math.ceil((oldest + PER_MS - nowMs) / 1_000)) },
      });
    for (const [other, times] of this.#tests) if (times.every((atMs) => atMs <= nowMs - PER_MS)) this.#tests.delete(other);
    this.#tests.set(account, [...recent, nowMs]);
  }
}

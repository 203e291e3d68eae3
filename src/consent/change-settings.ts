/** Reads and changes the consent settings of an environment. A change is one transaction with its idempotency key, its entry in the audit log
 *  and its response. Every inbound message reads the settings in its own transaction, so a change holds for all messages that commit later. */
import { recordChange } from "../audit/record-change.ts";
import { jsonResponse } from "../http/json-response.ts";
import { Problem } from "../http/problem.ts";
import { Once, type AuditedCall, type Executed, type Replay } from "../idempotency/once.ts";
import type { Clock } from "../database/database-clock.ts";
import type { Database, Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import type { ConsentDefaults } from "./consent-defaults.ts";
import { consentSettingsRecord, settingsOf, wordFaults, type ConsentSettings, type SomeSettings } from "./consent-settings.ts";
import { findSettings, lockSettings, storeSettings } from "./queries.ts";

export type ConsentSettingsParts = { db: Database; clock: Clock; consentDefaults: ConsentDefaults };

/** The settings that hold for an environment: those of the account, else those of the file, else the built-in ones. */
export async function readSettings(db: Queryable, defaults: ConsentDefaults, owner: Owner): Promise<ConsentSettings> {
  return settingsOf(defaults.of(owner), (await findSettings(db, owner))?.settings ?? {});
}

export class ConsentSettingsChanger {
  readonly #parts: ConsentSettingsParts;
  readonly #once: Once;

  constructor(parts: ConsentSettingsParts) {
    this.#parts = parts;
    this.#once = new Once(parts.db, parts.clock);
  }

  async read(owner: Owner): Promise<string> {
    const stored = await findSettings(this.#parts.db, owner);
    const settings = settingsOf(this.#parts.consentDefaults.of(owner), stored?.settings ?? {});
    return JSON.stringify(consentSettingsRecord(settings, { environment: owner.environment, updatedAt: stored?.updated_at ?? null }));
  }

  change(call: AuditedCall, change: SomeSettings): Promise<Executed | Replay> {
    const { credential: owner, origin } = call;
    return this.#once.write(call, async (tx) => {
      const nowMs = this.#parts.clock.now();
      const own = withChange(await lockSettings(tx, owner, nowMs), change);
      const settings = settingsOf(this.#parts.consentDefaults.of(owner), own);
      // A word of the change may be in a list that the change does not have.
      const errors = wordFaults(settings);
      if (errors.length > 0) throw new Problem("invalid_request_payload", { errors });
      await storeSettings(tx, owner, own, nowMs);
      await recordChange(
        tx,
        nowMs,
        { ...owner, origin: origin() },
        { action: "consent_settings.changed", target: TARGET, changes: audited(change) },
      );
      const record = consentSettingsRecord(settings, { environment: owner.environment, updatedAt: new Date(nowMs) });
      return jsonResponse(record);
    });
  }
}

const TARGET = { type: "consent_settings", id: null } as const;

/** The own settings of the account with those of the change in their place. */
function withChange(own: SomeSettings, { replies, ...lists }: SomeSettings): SomeSettings {
  const given = Object.fromEntries(Object.entries(lists).filter(([, value]) => value !== null && value !== undefined));
  return { ...own, ...given, ...(replies ? { replies: { ...own.replies, ...replies } } : {}) };
}

/** The change without the texts of replies. */
const audited = ({ replies, ...lists }: SomeSettings): Record<string, unknown> => ({
  ...lists,
  ...(replies ? { replies: Object.keys(replies) } : {}),
});

/** The form of carrier ids in receipts that a link has learnt. It belongs to the link's account at the carrier: another address or
 *  another system id starts anew. */
import type { ReceiptIdForm } from "../providers/provider.ts";
import { carrierAccount, type ReceiptIds, type SmppSettings } from "../providers/smpp/settings.ts";
import type { Queryable } from "../database/database.ts";
import type { Link } from "./link.ts";
import { readReceiptForms, writeReceiptForm } from "./queries.ts";

export async function readReceiptForm(db: Queryable, link: string, account: string): Promise<ReceiptIdForm | undefined> {
  const row = (await readReceiptForms(db, [link])).find((each) => each.account === account);
  return row && { base: row.base, letters: row.letters, width: row.width };
}

export const storeReceiptForm = (
  db: Queryable,
  link: string,
  { account, form, nowMs }: { account: string; form: ReceiptIdForm; nowMs: number },
): Promise<void> => writeReceiptForm(db, { link, account, ...form }, nowMs);

/** The form of each link that has one: from its settings, or learnt. `learn`: not learnt yet. */
export async function readReceiptIds(db: Queryable, links: readonly Link[]): Promise<ReadonlyMap<string, ReceiptIds>> {
  const own = links.filter(({ provider }) => provider === "smpp");
  if (own.length === 0) return new Map();
  const rows = await readReceiptForms(
    db,
    own.map(({ name }) => name),
  );
  return new Map(own.map((link) => [link.name, receiptIdsOf(link, rows)]));
}

function receiptIdsOf({ name, settings }: Link, rows: Awaited<ReturnType<typeof readReceiptForms>>): ReceiptIds {
  const { receiptIds = "learn", ...rest } = settings as SmppSettings;
  if (receiptIds !== "learn") return receiptIds;
  return rows.find(({ link, account }) => link === name && account === carrierAccount(rest))?.base ?? "learn";
}

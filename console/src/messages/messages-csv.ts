/** Messages as lines of a CSV file. */
import type { Message } from "godwit-sdk";
import { toCsvLine } from "../../../src/lib/csv.ts";

type CellOf = (message: Message) => string | number | null | undefined;

const COLUMNS: Readonly<Record<string, CellOf>> = {
  id: ({ id }) => id,
  created_at: ({ created_at: at }) => at,
  direction: ({ direction }) => direction,
  channel: ({ channel }) => channel,
  recipient: ({ recipient }) => recipient,
  sender: ({ sender }) => sender,
  status: ({ status }) => status,
  error_code: ({ error }) => error?.code,
  error_message: ({ error }) => error?.message,
  segments: ({ segments }) => segments?.count,
  body: ({ body }) => body,
  client_reference: ({ client_reference: reference }) => reference,
  batch_id: ({ batch_id: id }) => id,
  template_id: ({ template_id: id }) => id,
  link: ({ provider }) => provider?.link,
  sent_at: ({ sent_at: at }) => at,
  delivered_at: ({ delivered_at: at }) => at,
};

export const CSV_HEAD = toCsvLine(Object.keys(COLUMNS));

export const messageLine = (message: Message): string => toCsvLine(Object.values(COLUMNS).map((cellOf) => cellOf(message)));

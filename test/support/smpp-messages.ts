/** Messages over SMPP links to the fake SMSC: the links in the configuration, texts that identify messages, and their state. */
import assert from "node:assert/strict";
import { recipientNo } from "./recipient.ts";
import { until } from "./expect.ts";
import type { Smsc, Submit } from "./fakes/smsc.ts";
import type { Godwit } from "./harness.ts";

export const PASSWORDS = { RIGHT_PASSWORD: "hunter2", WRONG_PASSWORD: "guess" };

/** The `[[link]]` table of a link to the SMSC. The fields of `more` replace the others. */
export function smppTable(
  name: string,
  { port }: Pick<Smsc, "port">,
  more: Readonly<Record<string, string | number | boolean>> = {},
): string {
  const fields = { host: "127.0.0.1", port, system_id: "godwit", password_env: "RIGHT_PASSWORD", sender: "+14155550100", ...more };
  const lines = Object.entries({ name, provider: "smpp", ...fields }).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[[link]]\n${lines.join("\n")}\n`;
}

export const textOf = ({ short }: Submit): string => short.text.toString("latin1");
export const textsAt = (smsc: Smsc): string[] => smsc.submits.map(textOf);

/** Sends messages with the texts `text 0`, `text 1` and so on, and returns their ids. Their priority is high, because only such messages
 *  may fill the whole window. */
export async function sendTexts(godwit: Godwit, key: string, count: number, from = 0): Promise<string[]> {
  const replies = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      godwit.send(key, { recipient: recipientNo(from + index), body: `text ${from + index}`, priority: "high" }),
    ),
  );
  for (const { status, text } of replies) assert.equal(status, 202, text);
  return replies.map(({ json }) => String(json["id"]));
}

export type MessageState = { body: string; status: string; error_code: string | null; attempts: number; link: string | null };

/** The state of every message, in the order of acceptance. */
export const messageStates = (godwit: Godwit): Promise<MessageState[]> =>
  godwit.rows<MessageState>(
    `select body, status, error ->> 'code' as error_code, attempts, link
       from messages
      where direction = 'outbound'
      order by id`,
  );

export async function untilAll(godwit: Godwit, what: string, condition: (each: MessageState) => boolean): Promise<MessageState[]> {
  let last: MessageState[] = [];
  const odd = (): MessageState[] => last.filter((each) => !condition(each)).slice(0, 5);
  return until(
    () => `${what}; other messages: ${JSON.stringify(odd())}`,
    async () => {
      last = await messageStates(godwit);
      return last.length > 0 && last.every(condition) ? last : undefined;
    },
  );
}

/** Expires the leases of all claimed messages, so that any node can claim them. */
export const expireLeases = async (godwit: Godwit): Promise<void> => {
  await godwit.rows("update delivery_queue set due_at = now() where state = 0 and due_at > now()");
};

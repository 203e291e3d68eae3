/** The real program with links to the fake SMSC: the file that says so, messages that can be told apart by their text, and what
 *  became of them. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recipientNo } from "./delivery-rig.ts";
import { until } from "./expect.ts";
import type { Smsc, Submit } from "./fakes/smsc.ts";
import { startGodwit, type Godwit, type StartOptions } from "./harness.ts";

const folder = mkdtempSync(join(tmpdir(), "godwit-smpp-service-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
let files = 0;

/** The path of a configuration file with this in it: a new one, or the one that is said. */
export function writePlan(text: string, path = join(folder, `plan-${(files += 1)}.toml`)): string {
  writeFileSync(path, text);
  return path;
}

export const PASSWORDS = { RIGHT_PASSWORD: "hunter2", WRONG_PASSWORD: "guess" };

/** A `[[link]]` to the SMSC; `more` are lines as they stand in the file, which go before these. */
export function smppTable(name: string, { port }: Pick<Smsc, "port">, more: Readonly<Record<string, string | number>> = {}): string {
  const fields = { host: "127.0.0.1", port, system_id: "godwit", password_env: "RIGHT_PASSWORD", sender: "+14155550100", ...more };
  const lines = Object.entries({ name, provider: "smpp", ...fields }).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
  return `[[link]]\n${lines.join("\n")}\n`;
}

export const startNode = (config: string, options: StartOptions = {}): Promise<Godwit> =>
  startGodwit({ roles: "api,dispatch", ...options, env: { GODWIT_CONFIG: config, ...PASSWORDS, ...options.env } });

export const textOf = ({ short }: Submit): string => short.text.toString("latin1");
export const textsAt = (smsc: Smsc): string[] => smsc.submits.map(textOf);

/** Accepted, with `text 0` and so on; the ids in their order. Urgent ones: those may fill the whole of a window. */
export async function sendTexts(godwit: Godwit, key: string, count: number, from = 0): Promise<string[]> {
  const replies = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      godwit.send(key, { recipient: recipientNo(from + index), body: `text ${from + index}`, priority: "high" }),
    ),
  );
  for (const { status, text } of replies) assert.equal(status, 202, text);
  return replies.map(({ json }) => String(json["id"]));
}

export type Standing = { body: string; status: string; error_code: string | null; attempts: number; link: string | null };

/** Every message as it is now, in the order of acceptance. */
export const standings = (godwit: Godwit): Promise<Standing[]> =>
  godwit.rows<Standing>(
    `select body, status, error ->> 'code' as error_code, attempts, link
       from messages
      where direction = 'outbound'
      order by id`,
  );

export async function untilAll(godwit: Godwit, what: string, isSo: (each: Standing) => boolean): Promise<Standing[]> {
  let last: Standing[] = [];
  return until(what, async () => {
    last = await standings(godwit);
    return last.length > 0 && last.every(isSo) ? last : undefined;
  }).catch((error: unknown) => {
    const odd = last.filter((each) => !isSo(each)).slice(0, 5);
    throw new Error(`${String(error)}; not so: ${JSON.stringify(odd)}`, { cause: error });
  });
}

/** What a node that is gone had in its hands is anybody's, as it is when its time is over. */
export const lapse = async (godwit: Godwit): Promise<void> => {
  await godwit.rows("update delivery_queue set due_at = now() where state = 0 and due_at > now()");
};

/** The parts of the journeys that do not depend on a generator. */
import { setTimeout } from "node:timers/promises";

const variable = (name: string): string => process.env[name] ?? "";

export const [serviceUrl, key, hook] = ["GODWIT_URL", "GODWIT_KEY", "HOOK_URL"].map(variable) as [string, string, string];

/** A filter that only the messages of this journey pass. */
export const reference = "order-7";

/** The events of this version, which a program distinguishes by `type`. The other form has any text as its type. */
export type KnownEvent<Form> = Form extends { type: infer Type } ? (string extends Type ? never : Form) : never;

export async function until<T>(what: string, ask: () => Promise<T | undefined>): Promise<T> {
  for (let tries = 0; tries < 200; tries += 1) {
    const answer = await ask();
    if (answer !== undefined) return answer;
    await setTimeout(50);
  }
  throw new Error(`not in time: ${what}`);
}

/** Long inbound messages while the processes that receive them are killed: two processes of the real program, and a carrier that sends each part again
 *  until it is acknowledged. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { STATUS, type ShortMessage } from "../../src/providers/smpp/pdu.ts";
import { until } from "../support/expect.ts";
import { Smsc } from "../support/fakes/smsc.ts";
import { deliverSm, international } from "../support/fakes/smsc-scripts.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { seeded } from "../support/seed.ts";
import { PASSWORDS, smppTable } from "../support/smpp-messages.ts";

// The link stays with a dead node for so long.
const LEASE_MS = 3_000;
const MESSAGES = 200;
const PHONES = 4;
const KILLS = 6;

const partSm = (phone: number, reference: number, total: number, number: number, text: string): ShortMessage =>
  deliverSm({
    source: international(`49151000000${phone}`),
    esmClass: 0x40,
    text: Buffer.concat([Buffer.from([5, 0, 3, reference, total, number]), Buffer.from(text)]),
  });

const optionsFor = (smsc: Smsc) => ({
  asProcess: true,
  roles: "api,dispatch",
  config: smppTable("acme", smsc),
  env: PASSWORDS,
  timings: { linkLeaseMs: LEASE_MS },
});

const texts = async (node: Godwit): Promise<string[]> =>
  (
    await node.rows<{ body: string }>(
      `select body from messages where direction = 'inbound'
       union all
       select body from kept_inbound`,
    )
  ).map(({ body }) => body);

/** Delivers a part as carriers do: again after each new bind, until it is acknowledged. */
async function deliver(smsc: Smsc, part: ShortMessage): Promise<void> {
  for (;;) {
    const session = await until("a process to be bound", () => smsc.bound.at(-1));
    if ((await session.deliver(part)) === STATUS.ok) return;
  }
}

describe("a process that receives a long message", () => {
  test("and is killed after the first part leaves the part to the next one", async () => {
    const smsc = await Smsc.start();
    try {
      await using first = await startGodwit(optionsFor(smsc));
      await deliver(smsc, partSm(1, 7, 2, 1, "First half, "));
      await first.stop("SIGKILL");
      await using second = await startGodwit({ ...optionsFor(smsc), databaseUrl: first.databaseUrl });
      await deliver(smsc, partSm(1, 7, 2, 2, "second half."));
      assert.deepEqual(await texts(second), ["First half, second half."]);
    } finally {
      await smsc.stop();
    }
  });
});

describe("two processes, of which one after the other is killed", () => {
  test(`lose and mix none of ${MESSAGES} long messages with repeated references`, async (context) => {
    const random = seeded(context);
    const draw = (most: number): number => Math.floor(random() * most);
    const smsc = await Smsc.start();
    const nodes: Godwit[] = [];
    try {
      const options = optionsFor(smsc);
      await using first = await startGodwit(options);
      const start = async (): Promise<void> => void nodes.push(await startGodwit({ ...options, databaseUrl: first.databaseUrl }));
      nodes.push(first);
      await start();
      let next = 0;
      let delivered = 0;
      const expected: string[] = [];
      // A phone sends one message after the other. It has three references, and its messages begin alike.
      const phone = async (which: number): Promise<void> => {
        while (next < MESSAGES) {
          const message = next++;
          const [total, reference] = [2 + draw(4), draw(3)];
          const parts = Array.from({ length: total }, (_, index) => (index === 0 ? "Hello, " : `${message}.${index} `));
          for (const [index, text] of parts.entries()) await deliver(smsc, partSm(which, reference, total, index + 1, text));
          expected.push(parts.join(""));
          delivered += 1;
        }
      };
      const phones = Promise.all(Array.from({ length: PHONES }, (_, which) => phone(which)));
      for (let kill = 1; kill <= KILLS; kill += 1) {
        const threshold = Math.floor((kill * MESSAGES) / (KILLS + 1)) + draw(10);
        await until(`${threshold} messages to be delivered`, () => delivered >= threshold);
        const killed = nodes.shift();
        await killed?.stop("SIGKILL");
        await start();
      }
      await phones;
      const [node = assert.fail()] = nodes;
      assert.deepEqual((await texts(node)).toSorted(), expected.toSorted());
      // A repetition of a part whose response was lost waits for ten minutes, and is deleted then.
      const left = (): Promise<object[]> => node.rows("select from inbound_parts where state <> 'joined' and not is_doubtful");
      await until("no part to be left", async () => (await left()).length === 0);
    } finally {
      for (const node of nodes) await node.stop("SIGKILL");
      await smsc.stop();
    }
  });
});

/** An account that does its worst on one route: sends requests of one kind on many connections until the process is ended. Prints the
 *  number of responses by status at the end. Arguments: the URL, the API key, the name of the load. */
import { randomInt, randomUUID } from "node:crypto";
import { getPriority, setPriority } from "node:os";
import { makeBody } from "../godwit.ts";
import { runConnection, type Exchange } from "../load.ts";

const [url = "", key = "", name = ""] = process.argv.slice(2);
// The generator would be another machine. It must not take the processor from the service.
setPriority(Math.min(19, getPriority() + 5));

const ITEMS = 1_000;
const TEXT = "Your verification code is 123456. It is valid for ten minutes.";
const recipient = (): string => `+1${randomInt(2_000_000_000, 9_999_999_999)}`;

const batch = (): string =>
  JSON.stringify({
    defaults: { channel: "sms", body: TEXT },
    items: Array.from({ length: ITEMS }, () => ({ recipient: recipient() })),
  });
const refusedBatch = (): string => JSON.stringify({ items: Array.from({ length: ITEMS }, () => ({ recipient: "x", channel: "sms" })) });
const imports = (): string => JSON.stringify({ entries: Array.from({ length: ITEMS }, () => ({ recipient: recipient() })) });

type Load = { connections: number; line: string; makeBody?: () => string };

const LOADS: Readonly<Record<string, Load>> = {
  messages: { connections: 64, line: "POST /v1/messages", makeBody },
  batches: { connections: 16, line: "POST /v1/batches", makeBody: batch },
  "refused batches": { connections: 16, line: "POST /v1/batches", makeBody: refusedBatch },
  imports: { connections: 16, line: "POST /v1/suppressions/import", makeBody: imports },
  validate: { connections: 64, line: "POST /v1/messages/validate", makeBody },
  "messages, no match": { connections: 64, line: "GET /v1/messages?status=failed&limit=100" },
  "messages, full pages": { connections: 32, line: "GET /v1/messages?limit=100" },
  "events, no match": { connections: 64, line: "GET /v1/events?type=message.read&limit=100" },
  "events, full pages": { connections: 32, line: "GET /v1/events?limit=100" },
  suppressions: { connections: 64, line: "GET /v1/suppressions?limit=100" },
  usage: { connections: 64, line: "GET /v1/usage?interval=minute" },
  queue: { connections: 64, line: "GET /v1/queue" },
  "reads of nothing": { connections: 64, line: "GET /v1/messages/msg_01k9zs3v8mf4tb2xg1qj6n0d5c" },
};

const statuses: Record<number, number> = {};
const count = (status: number): void => void (statuses[status] = (statuses[status] ?? 0) + 1);
const headers = `Host: bench\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n`;

const exchange = ({ line, makeBody: make }: Load): Exchange => {
  const body = make?.() ?? "";
  const fields = make === undefined ? "" : `Idempotency-Key: ${randomUUID()}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  return { request: `${line} HTTP/1.1\r\n${headers}${fields}\r\n${body}`, onResponse: count };
};

/** Reads all events from the first one on, again and again, on as many streams as an account may have. */
async function readStreams(): Promise<void> {
  const read = async (): Promise<void> => {
    for (;;) {
      const response = await fetch(`${url}/v1/events/stream`, {
        headers: { authorization: `Bearer ${key}`, "last-event-id": "evt_00000000000000000000000000" },
      });
      count(response.status);
      if (!response.ok) await new Promise((resolve) => setTimeout(resolve, 1_000));
      for await (const _ of response.body ?? []);
    }
  };
  await Promise.all(Array.from({ length: 20 }, read));
}

process.on("SIGTERM", () => {
  process.stdout.write(`${JSON.stringify(statuses)}\n`, () => process.exit(0));
});

if (name === "streams") await readStreams();
else {
  const load = LOADS[name];
  if (load === undefined) throw new Error(`no load ${name}`);
  await Promise.all(Array.from({ length: load.connections }, () => runConnection(url, () => exchange(load))));
}

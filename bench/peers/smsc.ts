/** The carrier of bench/gateway. It accepts every short message at once and records its time of arrival by the number in its text. It
 *  prints its port, and one line of JSON for each command on standard input. It is deliberately small, because it shares the machine with the
 *  measured gateways; its own CPU time does not count. */
import { createServer, type Socket } from "node:net";
import { createInterface } from "node:readline";

const HEADER = 16;
const COMMAND = { nack: 0x80000000, submit: 4, unbind: 6, enquire: 0x15 } as const;
const BINDS: ReadonlySet<number> = new Set([1, 2, 9]);

/** The times of arrival of each message, in milliseconds since 1970. A message that arrived more than once has several. */
const arrivals = new Map<number, number[]>();
let count = 0;

function header(command: number, sequence: number, body: Buffer): Buffer {
  const bytes = Buffer.allocUnsafe(HEADER + body.length);
  bytes.writeUInt32BE(bytes.length, 0);
  bytes.writeUInt32BE(command, 4);
  bytes.writeUInt32BE(0, 8);
  bytes.writeUInt32BE(sequence, 12);
  body.copy(bytes, HEADER);
  return bytes;
}

const EMPTY = Buffer.alloc(0);
const NAME = Buffer.from("bench\0");

/** Returns the text of a submit_sm. It follows several fields, of which some end with a zero byte. */
function readText(pdu: Buffer): string {
  let at = pdu.indexOf(0, HEADER) + 1;
  at = pdu.indexOf(0, at + 2) + 1;
  at = pdu.indexOf(0, at + 2) + 1;
  at = pdu.indexOf(0, at + 3) + 1;
  at = pdu.indexOf(0, at) + 1;
  const length = pdu.readUInt8(at + 4);
  return pdu.toString("latin1", at + 5, at + 5 + length);
}

function recordArrival(pdu: Buffer): void {
  count += 1;
  const number = Number(/#(\d+)/.exec(readText(pdu))?.[1] ?? -1);
  const times = arrivals.get(number);
  if (times === undefined) arrivals.set(number, [Date.now()]);
  else times.push(Date.now());
}

function respond(pdu: Buffer): Buffer | undefined {
  const command = pdu.readUInt32BE(4);
  const sequence = pdu.readUInt32BE(12);
  if (command >= COMMAND.nack) return undefined;
  if (BINDS.has(command)) return header(command + COMMAND.nack, sequence, NAME);
  if (command !== COMMAND.submit) return header(command + COMMAND.nack, sequence, EMPTY);
  recordArrival(pdu);
  return header(command + COMMAND.nack, sequence, Buffer.from(`${count.toString(16)}\0`));
}

function serve(socket: Socket): void {
  let pending: Buffer = EMPTY;
  socket.setNoDelay(true);
  socket.on("error", () => undefined);
  socket.on("data", (chunk: Buffer) => {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    const responses: Buffer[] = [];
    while (pending.length >= HEADER && pending.length >= pending.readUInt32BE(0)) {
      const length = pending.readUInt32BE(0);
      const reply = respond(pending.subarray(0, length));
      if (reply !== undefined) responses.push(reply);
      pending = pending.subarray(length);
    }
    if (responses.length > 0) socket.write(Buffer.concat(responses));
  });
}

const server = createServer(serve).listen(0, "127.0.0.1", () => {
  process.stdout.write(`${JSON.stringify({ port: (server.address() as { port: number }).port })}\n`);
});

for await (const line of createInterface({ input: process.stdin })) {
  if (line === "count") process.stdout.write(`${JSON.stringify({ count })}\n`);
  if (line === "arrivals") process.stdout.write(`${JSON.stringify([...arrivals])}\n`);
  if (line === "forget") {
    arrivals.clear();
    count = 0;
    process.stdout.write("{}\n");
  }
}
process.exit(0);

/** The smallest service that keeps a message: parses the JSON body and inserts one row, in a transaction of its own. Argument: socket folder. */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import pg from "pg";
import { EMBEDDED_USER } from "../../src/embedded/embedded-roles.ts";

const pool = new pg.Pool({ host: process.argv[2], user: EMBEDDED_USER, database: "postgres", max: 16 });
await pool.query("create table if not exists bench_insert (id bigserial primary key, body jsonb not null)");
const insert = { name: "insert", text: "insert into bench_insert (body) values ($1) returning id" };

async function keep(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  const { rows } = await pool.query({ ...insert, values: [JSON.parse(Buffer.concat(chunks).toString("utf8"))] });
  const text = JSON.stringify(rows[0]);
  response.writeHead(202, { "content-type": "application/json", "content-length": Buffer.byteLength(text) }).end(text);
}

const server = createServer((request, response) => void keep(request, response));
server.listen(0, "127.0.0.1", () => process.stdout.write(`http://127.0.0.1:${(server.address() as AddressInfo).port}\n`));

/** A shop that sends a text when an order ships, and shows what became of the text. */
import { DatabaseSync } from "node:sqlite";
import express, { type NextFunction, type Request, type Response } from "express";
import { ApiError, Godwit, idempotencyKeyFrom, type Message, verifyWebhook, WebhookError } from "godwit-sdk";

type Order = { id: string; phone: string; text_status: string };

const godwit = new Godwit(); // reads GODWIT_KEY and GODWIT_URL
const secret = process.env["WEBHOOK_SECRET"];
if (secret === undefined) throw new Error("set WEBHOOK_SECRET to the secret of the webhook endpoint");

const database = new DatabaseSync(process.env["DATABASE"] ?? "orders.db");
database.exec(`create table if not exists orders (
  id text primary key, phone text not null, text_status text not null default 'unsent', sequence integer not null default 0)`);
const insert = database.prepare("insert or ignore into orders (id, phone) values (?, ?)");
const find = database.prepare("select id, phone, text_status from orders where id = ?");
const unsent = database.prepare("select id, phone, text_status from orders where text_status = 'unsent'");
// Webhooks arrive in any order, and may arrive before the response: `sequence` tells which status is newer.
const setStatus = database.prepare("update orders set text_status = ?, sequence = ? where id = ? and sequence < ?");
const setRefusal = database.prepare("update orders set text_status = ? where id = ?");

async function sendText({ id, phone }: Order): Promise<void> {
  try {
    const text = { recipient: phone, channel: "sms", body: `Your order ${id} is on its way.`, client_reference: id } as const;
    // The same key for the same order: the text is sent once, however often the request is made.
    record(await godwit.messages.send(text, { idempotencyKey: await idempotencyKeyFrom(`shipped:${id}`) }));
  } catch (error) {
    // The number is not valid, or the customer has opted out. After any other error the order stays unsent.
    if (error instanceof ApiError && (error.status === 400 || error.status === 422)) setRefusal.run(error.code, id);
    else console.error(`order ${id}:`, error);
  }
}

function record({ client_reference, status, sequence }: Message): void {
  if (client_reference !== null) setStatus.run(status, sequence, client_reference, sequence);
}

const app = express();

app.post("/orders/:id/ship", express.json(), async (request: Request<{ id: string }, unknown, { phone: string }>, response) => {
  const { id } = request.params;
  // Stored before the request, so that a restart finds the order.
  insert.run(id, request.body.phone);
  const order = find.get(id) as Order;
  if (order.text_status === "unsent") await sendText(order);
  response.json(find.get(id));
});

app.get("/orders/:id", (request, response) => {
  const order = find.get(request.params.id);
  if (order === undefined) response.sendStatus(404);
  else response.json(order);
});

app.post("/hooks", express.raw({ type: "application/json" }), async (request, response) => {
  // A request without a body has none here.
  const event = await verifyWebhook(request.body ?? "", request.headers, secret);
  if (event.data.message !== undefined) record(event.data.message);
  response.sendStatus(204);
});

app.use((error: unknown, _request: Request, response: Response, next: NextFunction) => {
  if (error instanceof WebhookError) response.status(400).send(error.reason);
  else next(error);
});

const server = app.listen(Number(process.env["PORT"] ?? 3000), () => {
  const address = server.address();
  console.log(`http://localhost:${typeof address === "object" ? address?.port : address}`);
});
// Orders whose response did not arrive before the last stop. Run this on a timer as well, to repeat requests after an outage.
for (const order of unsent.all()) await sendText(order as Order);

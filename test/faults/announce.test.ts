/** Announcements of new work while the database is unavailable. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { test } from "node:test";
import { Announcer } from "../../src/queue/announcer.ts";
import { Database } from "../../src/database/database.ts";
import { listen, notify } from "../../src/database/listen.ts";
import { CONNECT_TIMEOUT_MS, createDatabase } from "../support/database.ts";
import { DatabaseWire } from "../support/database-wire.ts";
import { NEVER_MS, until } from "../support/expect.ts";
import { keepLines } from "../support/harness.ts";

test("an unavailable database is logged once for listening and once for notifying", async () => {
  let connections = 0;
  const refusing = createServer((socket) => {
    connections += 1;
    socket.destroy();
  }).listen(0, "127.0.0.1");
  await once(refusing, "listening");
  const { port } = refusing.address() as AddressInfo;
  const db = new Database({ url: `postgres://godwit@127.0.0.1:${port}/none` }, "test", () => undefined);
  const { log, lines } = keepLines();
  const announcer = new Announcer(db, "test", log);
  const countOf = (name: string): number => lines.filter(({ event }) => event === name).length;
  const isRefused = (count: number) => until("a refused connection", () => connections >= count || undefined);

  for (let round = 1; round <= 3; round += 1) {
    announcer.announce("lane", { group: "0", dueAtMs: 0 });
    await isRefused(round);
  }
  announcer.hear(() => undefined);
  // The first connection, and one after the pause.
  await isRefused(5);
  await announcer.stop();
  await db.close();
  refusing.close();
  assert.deepEqual([countOf("storage.notify_failed"), countOf("storage.listen_failed")], [1, 1]);
  assert.ok(lines.every(({ level, error }) => level === 40 && error !== undefined));
});

test("a part that comes after the first one has begun to listen looks for work as well", async () => {
  const db = new Database({ url: await createDatabase(), connectTimeoutMs: CONNECT_TIMEOUT_MS }, "test", () => undefined);
  const announcer = new Announcer(db, "test", keepLines().log);
  let calls = 0;
  announcer.onListening(() => (calls += 1));
  announcer.hear(() => undefined);
  await until("it to listen", () => calls === 1 || undefined);
  let later = 0;
  announcer.onListening(() => (later += 1));
  assert.deepEqual([calls, later], [1, 1]);
  await announcer.stop();
  await db.close();
});

test("a listening connection whose server has vanished is replaced", async () => {
  const databaseUrl = await createDatabase();
  const wire = await DatabaseWire.to(databaseUrl);
  // A check fails after the time limit of a statement.
  const db = new Database({ url: `${wire.url}?query_timeout=1000`, connectTimeoutMs: CONNECT_TIMEOUT_MS }, "test", () => undefined);
  let times = 0;
  const received: string[] = [];
  const listening = listen(db, "test_channel", {
    onMessage: (payload) => received.push(payload),
    onListening: () => (times += 1),
    onError: () => undefined,
    checkMs: 50,
  });
  await until("it to listen", () => times === 1 || undefined);
  wire.freezeAll();
  await until("it to listen again", () => times >= 2 || undefined);
  const notifier = new Database({ url: databaseUrl, connectTimeoutMs: CONNECT_TIMEOUT_MS }, "test", () => undefined);
  await notify(notifier, "test_channel", ["new work"]);
  await until("the notification", () => received.includes("new work") || undefined);
  await listening.stop();
  await Promise.all([db.close(), notifier.close()]);
  await wire.close();
});

test("the end of a listening connection does not wait for a server that has vanished", async () => {
  const wire = await DatabaseWire.to(await createDatabase());
  const db = new Database({ url: wire.url, connectTimeoutMs: CONNECT_TIMEOUT_MS }, "test", () => undefined);
  let isListening = false;
  const onListening = (): boolean => (isListening = true);
  const listening = listen(db, "test_channel", { onMessage: () => undefined, onListening, onError: () => undefined, checkMs: NEVER_MS });
  await until("it to listen", () => isListening || undefined);
  wire.freezeAll();
  await listening.stop();
  await db.close();
  await wire.close();
});

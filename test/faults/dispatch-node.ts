/** A process that only delivers messages. Its one link leads to the witness. Tests kill and freeze it, and cut its connections. */
import { createLog } from "../../src/model/log.ts";
import { simulatorLink, type Link } from "../../src/links/link.ts";
import { LinkDirectory } from "../../src/links/directory.ts";
import { closeStorage, deliveryOf, openStorage } from "../support/engine.ts";
import { witnessed } from "./witness-client.ts";

export type DispatchSettings = {
  databaseUrl: string;
  node: string;
  port: number;
  window: number;
  onUnknown: Link["onUnknown"];
  responseTimeoutMs: number;
  queueLeaseMs: number;
};

const DAY_MS = 24 * 3_600_000;

async function main({ databaseUrl, node, port, window, onUnknown, responseTimeoutMs, queueLeaseMs }: DispatchSettings): Promise<void> {
  const { log, flush } = createLog("json");
  const stopped = new Promise<void>((resolve) => process.once("SIGTERM", () => resolve()));
  const storage = await openStorage({ url: databaseUrl }, node);
  // The link of the simulator, with the witness as its carrier.
  const link: Link = { ...simulatorLink(1), onUnknown };
  const { delivery, announcer } = deliveryOf(storage, {
    node,
    providers: { simulator: witnessed({ port, node, window }) },
    linkDirectory: new LinkDirectory(link),
    receiptWaitMs: DAY_MS,
    responseTimeoutMs,
    queueLeaseMs,
    log,
  });
  await delivery.start();
  const report = (msg: string): void => {
    log.info({ claimedCount: delivery.lanes.get(link.name)?.ownedCount }, msg);
    void flush();
  };
  process.on("SIGUSR2", () => report("claimed"));
  report("delivering");
  await stopped;
  await delivery.stop();
  await announcer.stop();
  await closeStorage(storage);
  // No process.exit(): a resource that stays open is then visible as a process that does not end.
  process.exitCode = 0;
}

await main(JSON.parse(process.argv[2] ?? "") as DispatchSettings);

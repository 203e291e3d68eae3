/** A process that delivers and does nothing else, to be killed, frozen and cut off: its one link leads to the witness. */
import { createLog } from "../../../src/lib/log.ts";
import { ProviderHosts } from "../../../src/delivery/provider-hosts.ts";
import { Delivery } from "../../../src/delivery/delivery.ts";
import { SecretBox } from "../../../src/lib/secret-box.ts";
import { Composer } from "../../../src/messages/compose.ts";
import { simulatorLink, type Link } from "../../../src/links/link.ts";
import { Templates } from "../../../src/templates/find-template.ts";
import { LinkChooser } from "../../../src/links/choose-links.ts";
import { Announcer } from "../../../src/storage/announce.ts";
import { DatabaseClock } from "../../../src/storage/database-clock.ts";
import { Database } from "../../../src/storage/database.ts";
import { TIMINGS } from "../../../src/timings.ts";
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
  const db = new Database({ url: databaseUrl }, node, () => undefined);
  const clock = new DatabaseClock(db);
  await clock.start();
  // The lane of the only kind of link that there is, with another carrier at its end.
  const link: Link = { ...simulatorLink(1), onUnknown };
  const linkChooser = new LinkChooser(link);
  const announcer = new Announcer(db, node, log);
  const shared = {
    db,
    clock,
    linkChooser,
    wakeWebhooks: () => undefined,
    receiptWaitMs: DAY_MS,
    watch: {
      submitted: () => undefined,
      attempted: () => undefined,
      advanced: () => undefined,
      received: () => undefined,
      parked: () => undefined,
      inbound: () => undefined,
    },
    log,
  };
  const delivery = new Delivery({
    ...shared,
    node,
    announcer,
    hosts: new ProviderHosts(shared),
    providers: { simulator: witnessed({ port, node, window }) },
    composer: new Composer({ clock, linkChooser, templates: new Templates(db) }),
    box: new SecretBox(Buffer.alloc(32)),
    responseTimeoutMs,
    queueLeaseMs,
    linkLeaseMs: TIMINGS.linkLeaseMs,
    pollMs: TIMINGS.deliveryPollMs,
  });
  await delivery.start();
  const tell = (msg: string): void => {
    log.info({ inHand: delivery.lanes.get(link.name)?.ownedCount }, msg);
    flush();
  };
  process.on("SIGUSR2", () => tell("in hand"));
  tell("delivering");
  await stopped;
  await delivery.stop();
  await announcer.stop();
  clock.stop();
  await db.close();
  // Not by force: whatever is left running shows as a process that does not end.
  process.exitCode = 0;
}

await main(JSON.parse(process.argv[2] ?? "") as DispatchSettings);

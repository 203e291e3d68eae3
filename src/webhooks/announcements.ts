/** Announcements of queued deliveries between nodes: the endpoints, or that any endpoint may have some. */
import type { QueuedDeliveries } from "../events/publish.ts";
import { toId } from "../model/id.ts";
import { uuidFromText, uuidToText } from "../lib/uuid.ts";
import type { Announced, Announcer } from "../queue/announcer.ts";

/** The name of the webhook workers among the lanes that announcements name. */
export const WEBHOOK_LANE = "@webhooks";

const ANY_ENDPOINT = "*";

export function announceDeliveries(announcer: Announcer, queued: readonly QueuedDeliveries[] | undefined): void {
  if (queued === undefined) return announcer.announce(WEBHOOK_LANE, { group: ANY_ENDPOINT, dueAtMs: 0 });
  for (const { accountId, environment, endpointId, dueAtMs } of queued)
    announcer.announce(WEBHOOK_LANE, { group: `${environment} ${uuidToText(accountId)} ${uuidToText(endpointId)}`, dueAtMs });
}

/** The endpoints of an announcement; undefined if it names none. */
export function deliveriesOf({ group, dueAtMs }: Announced): readonly QueuedDeliveries[] | undefined {
  const [, environment, account, endpoint] = /^(test|live) ([0-9a-f-]{36}) ([0-9a-f-]{36})$/.exec(group) ?? [];
  if (account === undefined || endpoint === undefined) return undefined;
  return [
    {
      accountId: toId("acct", uuidFromText(account)),
      environment: environment === "live" ? "live" : "test",
      endpointId: toId("whe", uuidFromText(endpoint)),
      dueAtMs,
    },
  ];
}

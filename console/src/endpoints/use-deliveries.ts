/** An endpoint's deliveries, kept fresh: soon after an event or an attempt that is due, and now and then in any case. */
import type { Page, QueryOf, WebhookDelivery, WebhookEndpoint } from "godwit-sdk";
import { useCallback, useRef, useState } from "preact/hooks";
import { useInterval } from "../lib/timing.ts";
import { useEvents } from "../session/live.tsx";
import { useApi } from "../session/use-session.ts";
import { useList, type List, type Listed } from "../ui/pages.tsx";
import { wants } from "./event-types.ts";

export const STATUSES = ["pending", "succeeded", "failed"] as const satisfies QueryOf<"get_webhook_endpoints_id_deliveries">["status"][];
export type DeliveryStatus = (typeof STATUSES)[number];

const PAGE = 25;
// As many as one request brings. Who has gone further down reads, and is left alone.
const MOST_FOLLOWED = 100;
const SOON_MS = 1_500;
const IDLE_MS = 15_000;
// An event is first, its delivery some moments later.
const TURNS_AFTER_EVENT = 3;

export type Deliveries = {
  list: List<WebhookDelivery>;
  /** Further down than is looked at again by itself. */
  isStill: boolean;
  /** Looks often for a while: something was asked for. */
  expect: (turns: number) => void;
  /** Says that a delivery is being read: new ones then push none off the list. */
  hold: (id: string, isOpen: boolean) => void;
};

export function useDeliveries(endpoint: WebhookEndpoint, status: DeliveryStatus | undefined): Deliveries {
  const { list, hold } = useDeliveryList(endpoint.id, status);
  const { data, isLoading, reload } = list.resource;
  const items = data?.items ?? [];
  const isStill = items.length > MOST_FOLLOWED;
  const [turns, setTurns] = useState(0);
  const expect = (more: number): void => setTurns((before) => Math.max(before, more));
  useEvents((events) => {
    if (events.some(({ type }) => wants(endpoint.event_types, type))) expect(TURNS_AFTER_EVENT);
  });
  const isBusy = turns > 0 || endpoint.recovery !== null || items.some(isDueSoon);
  useInterval(
    () => {
      setTurns((before) => Math.max(0, before - 1));
      // What is slower than this interval would else be asked for again and again, and never come.
      if (!isLoading && !list.more.isRunning) reload();
    },
    isStill ? null : isBusy ? SOON_MS : IDLE_MS,
  );
  return { list, isStill, expect, hold };
}

const isDueSoon = ({ status, next_attempt_at: next }: WebhookDelivery): boolean =>
  status === "pending" && next !== null && Date.parse(next) - Date.now() < 2 * SOON_MS;

/** The list, as long after a reload as it was before. */
function useDeliveryList(endpointId: string, status: DeliveryStatus | undefined): Pick<Deliveries, "list" | "hold"> {
  const api = useApi();
  const key = `deliveries ${endpointId} ${status ?? ""}`;
  const fetchedKey = useRef("");
  const shown = useRef<Listed<WebhookDelivery> | undefined>(undefined);
  const { current: open } = useRef(new Set<string>());
  const list = useList(key, async (cursor, signal) => {
    const ask = (limit: number): PromiseLike<Page<WebhookDelivery>> =>
      api.webhookEndpoints.deliveries(endpointId, { limit, ...(status && { status }) }, { signal }).page(cursor);
    if (cursor !== undefined) return ask(PAGE);
    const before = fetchedKey.current === key ? shown.current : undefined;
    fetchedKey.current = key;
    const count = before?.items.length ?? 0;
    const fresh = await ask(Math.min(MOST_FOLLOWED, Math.max(PAGE, count)));
    const isRead = count > PAGE || open.size > 0;
    return before !== undefined && isRead && count <= MOST_FOLLOWED ? withRest(fresh, before) : fresh;
  });
  shown.current = list.resource.data;
  const hold = useCallback((id: string, isOpen: boolean) => void (isOpen ? open.add(id) : open.delete(id)), [open]);
  return { list, hold };
}

/** What was shown below the last of the fresh ones stays there. */
function withRest(fresh: Page<WebhookDelivery>, { items, cursor }: Listed<WebhookDelivery>): Page<WebhookDelivery> {
  const last = fresh.data.at(-1);
  const at = items.findIndex(({ id }) => id === last?.id);
  const rest = at === -1 ? [] : items.slice(at + 1);
  return rest.length === 0 ? fresh : { ...fresh, data: [...fresh.data, ...rest], next_cursor: cursor };
}

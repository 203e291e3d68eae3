/** Fetches an endpoint's deliveries and refreshes them: often after an event or near a due attempt, and otherwise from time to time. */
import type { Page, QueryOf, WebhookDelivery, WebhookEndpoint } from "godwit-sdk";
import { useCallback, useRef, useState } from "preact/hooks";
import { useInterval } from "../lib/timing.ts";
import { useEvents } from "../session/live.tsx";
import { useApi } from "../session/use-session.ts";
import { useList, type List, type Listed } from "../ui/pages.tsx";
import { receives } from "./event-types.ts";

export const STATUSES = ["pending", "succeeded", "failed"] as const satisfies QueryOf<"listWebhookDeliveries">["status"][];
export type DeliveryStatus = (typeof STATUSES)[number];

const PAGE = 25;
// The size of one request. A longer list is being read and is not refreshed automatically.
const MAX_FOLLOWED = 100;
const BUSY_MS = 1_500;
const IDLE_MS = 15_000;
// The delivery of an event follows some moments after the event.
const REFRESHES_AFTER_EVENT = 3;

export type Deliveries = {
  list: List<WebhookDelivery>;
  /** The list is too long for automatic refreshes. */
  isTooLong: boolean;
  /** Refreshes often for a while, after an action of the user. */
  refreshSoon: (refreshes: number) => void;
  /** Marks a delivery as open. New deliveries then push none off the list. */
  setOpen: (id: string, isOpen: boolean) => void;
};

export function useDeliveries(endpoint: WebhookEndpoint, status: DeliveryStatus | undefined): Deliveries {
  const { list, setOpen } = useDeliveryList(endpoint.id, status);
  const { data, isLoading, reload } = list.resource;
  const items = data?.items ?? [];
  const isTooLong = items.length > MAX_FOLLOWED;
  const [refreshes, setRefreshes] = useState(0);
  const refreshSoon = (more: number): void => setRefreshes((before) => Math.max(before, more));
  useEvents((events) => {
    if (events.some(({ type }) => receives(endpoint.event_types, type))) refreshSoon(REFRESHES_AFTER_EVENT);
  });
  const isBusy = refreshes > 0 || endpoint.recovery !== null || items.some(isDueSoon);
  useInterval(
    () => {
      setRefreshes((before) => Math.max(0, before - 1));
      // A request that takes longer than the interval must not be started again before it ends.
      if (!isLoading && !list.more.isRunning) reload();
    },
    isTooLong ? null : isBusy ? BUSY_MS : IDLE_MS,
  );
  return { list, isTooLong, refreshSoon, setOpen };
}

const isDueSoon = ({ status, next_attempt_at: next }: WebhookDelivery): boolean =>
  status === "pending" && next !== null && Date.parse(next) - Date.now() < 2 * BUSY_MS;

/** The list of deliveries. It keeps its length after a reload. */
function useDeliveryList(endpointId: string, status: DeliveryStatus | undefined): Pick<Deliveries, "list" | "setOpen"> {
  const api = useApi();
  const key = `deliveries ${endpointId} ${status ?? ""}`;
  const fetchedKey = useRef("");
  const shown = useRef<Listed<WebhookDelivery> | undefined>(undefined);
  const { current: open } = useRef(new Set<string>());
  const list = useList(key, async (cursor, signal) => {
    const fetchPage = (limit: number): PromiseLike<Page<WebhookDelivery>> =>
      api.webhookEndpoints.deliveries(endpointId, { limit, ...(status && { status }) }, { signal }).page(cursor);
    if (cursor !== undefined) return fetchPage(PAGE);
    const before = fetchedKey.current === key ? shown.current : undefined;
    fetchedKey.current = key;
    const count = before?.items.length ?? 0;
    const fresh = await fetchPage(Math.min(MAX_FOLLOWED, Math.max(PAGE, count)));
    const isRead = count > PAGE || open.size > 0;
    return before !== undefined && isRead && count <= MAX_FOLLOWED ? appendRest(fresh, before) : fresh;
  });
  shown.current = list.resource.data;
  const setOpen = useCallback((id: string, isOpen: boolean) => void (isOpen ? open.add(id) : open.delete(id)), [open]);
  return { list, setOpen };
}

/** Appends the items that were shown below the last fresh one. */
function appendRest(fresh: Page<WebhookDelivery>, { items, cursor }: Listed<WebhookDelivery>): Page<WebhookDelivery> {
  const last = fresh.data.at(-1);
  const at = items.findIndex(({ id }) => id === last?.id);
  const rest = at === -1 ? [] : items.slice(at + 1);
  return rest.length === 0 ? fresh : { ...fresh, data: [...fresh.data, ...rest], next_cursor: cursor };
}

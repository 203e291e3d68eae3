/** One event stream for the whole console. Listeners get events in batches, so that thousands per second cost only a few renderings. */
import type { GodwitEvent } from "godwit-sdk";
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useOnChange } from "../lib/timing.ts";
import { useSession } from "./use-session.ts";

export type LiveState = "off" | "connecting" | "live" | "lost";
type Listener = (events: readonly GodwitEvent[]) => void;
type Live = {
  state: LiveState;
  /** The number of times that the stream started without the events before. */
  restarts: number;
  listeners: Set<Listener>;
};

const LiveContext = createContext<Live>({ state: "off", restarts: 0, listeners: new Set() });

const FLUSH_MS = 200;
// With more events than this, a reload of the shown data is cheaper.
const MAX_PENDING = 2_000;
const RETRY_MS = 5_000;
const HIDDEN_MS = 30_000;
// After a longer absence, a reload of the shown data is cheaper than all missed events.
const RESUMED_WITHIN_MS = 120_000;

type StreamPosition = { lastEventId: string | undefined; atMs: number };

export function LiveProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const session = useSession();
  const isAllowed = session.may("events:read");
  const [state, setState] = useState<LiveState>(isAllowed ? "connecting" : "off");
  const [restarts, setRestarts] = useState(0);
  const { current: listeners } = useRef(new Set<Listener>());
  const position = useRef<StreamPosition>({ lastEventId: undefined, atMs: 0 });
  const isVisible = usePageVisible();

  useEffect(() => {
    if (!isAllowed || !isVisible) return undefined;
    const leaving = new AbortController();
    const onRestart = (): void => setRestarts((count) => count + 1);
    const notify: Listener = (events) => {
      for (const listener of listeners) listener(events);
    };
    const batcher = batchEvents(notify, onRestart);
    const follow = async (): Promise<void> => {
      const { lastEventId, atMs } = position.current;
      const from = Date.now() - atMs < RESUMED_WITHIN_MS ? lastEventId : undefined;
      let isNew = from === undefined;
      const onState = ({ kind }: { kind: "connected" | "lost" }): void => {
        setState(kind === "connected" ? "live" : "lost");
        if (kind !== "connected") return;
        if (isNew) onRestart();
        isNew = false;
      };
      const stream = session.api.events.stream({}, { signal: leaving.signal, onState, lastEventId: from });
      try {
        for await (const event of stream) batcher.add(event);
      } finally {
        position.current = { lastEventId: stream.lastEventId, atMs: Date.now() };
      }
    };
    // An error that is final for the SDK may be temporary, such as a token that could not be created while the service was unavailable.
    const keepFollowing = async (): Promise<void> => {
      while (!leaving.signal.aborted) {
        await follow().catch(() => setState("lost"));
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    };
    void keepFollowing();
    return () => {
      leaving.abort();
      batcher.end();
    };
  }, [session, isAllowed, isVisible, listeners]);

  const live = useMemo(() => ({ state, restarts, listeners }), [state, restarts, listeners]);
  return <LiveContext value={live}>{children}</LiveContext>;
}

/** Collects single events into batches. Drops a batch that is too large and reports it. */
function batchEvents(notify: Listener, onOverflow: () => void): { add: (event: GodwitEvent) => void; end: () => void } {
  let pending: GodwitEvent[] = [];
  let isOverflowed = false;
  let timer = 0;
  let isEnded = false;
  // A page that renders slowly gets batches less often, so that half of the time remains for input of the user.
  const emit = (): void => {
    const events = pending;
    pending = [];
    if (events.length > 0) notify(events);
    if (isOverflowed) onOverflow();
    isOverflowed = false;
  };
  const flush = (): void => {
    const beganAt = performance.now();
    emit();
    requestAnimationFrame(() => {
      if (isEnded) return;
      timer = window.setTimeout(flush, Math.max(FLUSH_MS, performance.now() - beganAt));
    });
  };
  timer = window.setTimeout(flush, FLUSH_MS);
  const add = (event: GodwitEvent): void => {
    pending.push(event);
    if (pending.length <= MAX_PENDING) return;
    pending = [];
    isOverflowed = true;
  };
  const end = (): void => {
    isEnded = true;
    clearTimeout(timer);
    // The stream will continue after the last pending event, so the pending events are delivered now.
    emit();
  };
  return { add, end };
}

/** Whether the page is visible. Browsers share six connections to a host among all tabs, so a hidden tab soon closes its stream. */
function usePageVisible(): boolean {
  const [isVisible, setVisible] = useState(true);
  useEffect(() => {
    let timer: number | undefined;
    const onChange = (): void => {
      clearTimeout(timer);
      if (document.visibilityState === "visible") setVisible(true);
      else timer = window.setTimeout(() => setVisible(false), HIDDEN_MS);
    };
    document.addEventListener("visibilitychange", onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onChange);
    };
  }, []);
  return isVisible;
}

export const useLiveState = (): LiveState => useContext(LiveContext).state;

export function useEvents(onEvents: Listener): void {
  const { listeners } = useContext(LiveContext);
  const latest = useRef(onEvents);
  latest.current = onEvents;
  useEffect(() => {
    const listener: Listener = (events) => latest.current(events);
    listeners.add(listener);
    return () => void listeners.delete(listener);
  }, [listeners]);
}

/** Reloads the shown data when the stream restarts, because the stream does not contain earlier events. */
export function useOnStreamRestart(reload: () => void): void {
  useOnChange(useContext(LiveContext).restarts, reload);
}

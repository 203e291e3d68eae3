/** One event stream for the whole console. Whoever wants events gets them in handfuls, so that thousands a second cost a few renderings. */
import type { GodwitEvent } from "godwit-sdk";
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import { useOnChange } from "../lib/timing.ts";
import { useSession } from "./use-session.ts";

export type LiveState = "off" | "connecting" | "live" | "lost";
type Listener = (events: readonly GodwitEvent[]) => void;
type Live = {
  state: LiveState;
  /** Counts the times that the stream began anew, with no word of what was before. */
  beginnings: number;
  listeners: Set<Listener>;
};

const LiveContext = createContext<Live>({ state: "off", beginnings: 0, listeners: new Set() });

const FLUSH_MS = 200;
// Beyond this it is less to fetch again what is shown.
const MOST_HELD = 2_000;
const RETRY_MS = 5_000;
const HIDDEN_MS = 30_000;
// After a longer absence it is less to fetch what is shown again than all that has happened.
const RESUMED_WITHIN_MS = 120_000;

type Left = { lastEventId: string | undefined; atMs: number };

export function LiveProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const session = useSession();
  const isAllowed = session.may("events:read");
  const [state, setState] = useState<LiveState>(isAllowed ? "connecting" : "off");
  const [beginnings, setBeginnings] = useState(0);
  const { current: listeners } = useRef(new Set<Listener>());
  const left = useRef<Left>({ lastEventId: undefined, atMs: 0 });
  const isLookedAt = useLookedAt();

  useEffect(() => {
    if (!isAllowed || !isLookedAt) return undefined;
    const leaving = new AbortController();
    const begin = (): void => setBeginnings((count) => count + 1);
    const tell: Listener = (events) => {
      for (const listener of listeners) listener(events);
    };
    const hand = handfuls(tell, begin);
    const follow = async (): Promise<void> => {
      const { lastEventId, atMs } = left.current;
      const from = Date.now() - atMs < RESUMED_WITHIN_MS ? lastEventId : undefined;
      let isNew = from === undefined;
      const onState = ({ kind }: { kind: "connected" | "lost" }): void => {
        setState(kind === "connected" ? "live" : "lost");
        if (kind !== "connected") return;
        if (isNew) begin();
        isNew = false;
      };
      const stream = session.api.events.stream({}, { signal: leaving.signal, onState, lastEventId: from });
      try {
        for await (const event of stream) hand.add(event);
      } finally {
        left.current = { lastEventId: stream.lastEventId, atMs: Date.now() };
      }
    };
    // What the SDK takes for final may still pass: a token that could not be bought while the service was away.
    const keepFollowing = async (): Promise<void> => {
      while (!leaving.signal.aborted) {
        await follow().catch(() => setState("lost"));
        await new Promise((resolve) => setTimeout(resolve, RETRY_MS));
      }
    };
    void keepFollowing();
    return () => {
      leaving.abort();
      hand.end();
    };
  }, [session, isAllowed, isLookedAt, listeners]);

  const live = useMemo(() => ({ state, beginnings, listeners }), [state, beginnings, listeners]);
  return <LiveContext value={live}>{children}</LiveContext>;
}

/** What comes one by one, given on in handfuls. What is too much for one is dropped, and told. */
function handfuls(give: Listener, onDropped: () => void): { add: (event: GodwitEvent) => void; end: () => void } {
  let held: GodwitEvent[] = [];
  let hasDropped = false;
  let timer = 0;
  let isOver = false;
  // A page that takes long to draw gets its handfuls less often: half of the time is left for whoever uses it.
  const empty = (): void => {
    const events = held;
    held = [];
    if (events.length > 0) give(events);
    if (hasDropped) onDropped();
    hasDropped = false;
  };
  const flush = (): void => {
    const beganAt = performance.now();
    empty();
    requestAnimationFrame(() => {
      if (isOver) return;
      timer = window.setTimeout(flush, Math.max(FLUSH_MS, performance.now() - beganAt));
    });
  };
  timer = window.setTimeout(flush, FLUSH_MS);
  const add = (event: GodwitEvent): void => {
    held.push(event);
    if (held.length <= MOST_HELD) return;
    held = [];
    hasDropped = true;
  };
  const end = (): void => {
    isOver = true;
    clearTimeout(timer);
    // The stream goes on after the last of them.
    empty();
  };
  return { add, end };
}

/** Browsers open six connections to a host, for all tabs together: one that nobody looks at gives its own back after a while. */
function useLookedAt(): boolean {
  const [isLookedAt, setLookedAt] = useState(true);
  useEffect(() => {
    let timer: number | undefined;
    const onChange = (): void => {
      clearTimeout(timer);
      if (document.visibilityState === "visible") setLookedAt(true);
      else timer = window.setTimeout(() => setLookedAt(false), HIDDEN_MS);
    };
    document.addEventListener("visibilitychange", onChange);
    return () => {
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", onChange);
    };
  }, []);
  return isLookedAt;
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

/** Fetches again what is shown whenever the stream begins anew: what happened before, it does not tell. */
export function useCaughtUp(reload: () => void): void {
  useOnChange(useContext(LiveContext).beginnings, reload);
}

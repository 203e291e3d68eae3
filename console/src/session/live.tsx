/** One event stream for the whole console. Whoever wants events gets them in handfuls, so that thousands a second cost a few renderings. */
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useContext, useEffect, useMemo, useRef, useState } from "preact/hooks";
import type { GodwitEvent } from "godwit-sdk";
import { useSession } from "./use-session.ts";

export type LiveState = "off" | "connecting" | "live" | "lost";
type Listener = (events: readonly GodwitEvent[]) => void;
type Live = { state: LiveState; listeners: Set<Listener> };

const LiveContext = createContext<Live>({ state: "off", listeners: new Set() });

const FLUSH_MS = 200;
// More than this in one handful is not looked at one by one by anybody: the newest count.
const MOST_HELD = 2_000;
const HIDDEN_MS = 30_000;

export function LiveProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const session = useSession();
  const isAllowed = session.may("events:read");
  const [state, setState] = useState<LiveState>(isAllowed ? "connecting" : "off");
  const { current: listeners } = useRef(new Set<Listener>());
  const lastEventId = useRef<string | undefined>(undefined);
  const isLookedAt = useLookedAt();

  useEffect(() => {
    if (!isAllowed || !isLookedAt) return undefined;
    const leaving = new AbortController();
    let held: GodwitEvent[] = [];
    const timer = setInterval(() => {
      if (held.length === 0) return;
      const events = held;
      held = [];
      for (const listener of listeners) listener(events);
    }, FLUSH_MS);
    const follow = async (): Promise<void> => {
      const onState = ({ kind }: { kind: "connected" | "lost" }): void => setState(kind === "connected" ? "live" : "lost");
      const options = { signal: leaving.signal, onState, lastEventId: lastEventId.current };
      for await (const event of session.api.events.stream({}, options)) {
        lastEventId.current = event.id;
        held.push(event);
        if (held.length > MOST_HELD) held.shift();
      }
    };
    follow().catch(() => setState("lost"));
    return () => {
      leaving.abort();
      clearInterval(timer);
    };
  }, [session, isAllowed, isLookedAt, listeners]);

  const live = useMemo(() => ({ state, listeners }), [state, listeners]);
  return <LiveContext value={live}>{children}</LiveContext>;
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

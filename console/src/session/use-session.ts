/** Hooks that give components the session. */
import type { Godwit } from "godwit-sdk";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./session.ts";

export const SessionContext = createContext<Session | undefined>(undefined);

/** All sessions of the tab. `select` shows another one, `add` the sign-in page for another key. */
type Sessions = { all: readonly Session[]; select: (session: Session) => void; add: () => void };
export const SessionsContext = createContext<Sessions>({ all: [], select: () => {}, add: () => {} });
export const useSessions = (): Sessions => useContext(SessionsContext);

/** The names by which a person tells sessions apart: with the account if there are several. */
export function namesOf(sessions: readonly Session[]): string[] {
  const accounts = new Set(sessions.map(({ identity }) => identity.accountId));
  return sessions.map(({ identity: { environment, name, accountId } }) => {
    const account = accounts.size > 1 ? ` · …${accountId.slice(-6)}` : "";
    return `${environment} · ${name ?? "unnamed key"}${account}`;
  });
}

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("outside of a session");
  return session;
}

/** The session, or undefined on the sign-in page. */
export const useSessionIfAny = (): Session | undefined => useContext(SessionContext);

export const useApi = (): Godwit => useSession().api;
export const useMay = (scope: string): boolean => useSession().may(scope);

/** Hooks that give components the session. */
import type { Godwit } from "godwit-sdk";
import { createContext } from "preact";
import { useContext } from "preact/hooks";
import type { Session } from "./session.ts";

export const SessionContext = createContext<Session | undefined>(undefined);

export function useSession(): Session {
  const session = useContext(SessionContext);
  if (session === undefined) throw new Error("outside of a session");
  return session;
}

/** The session, or undefined on the sign-in page. */
export const useSessionIfAny = (): Session | undefined => useContext(SessionContext);

export const useApi = (): Godwit => useSession().api;
export const useMay = (scope: string): boolean => useSession().may(scope);

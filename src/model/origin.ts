/** The origin of a change: who makes it, from which address, and by which request. */
import { userInfo } from "node:os";

export const ACTOR_TYPES = ["key", "token", "cli", "carrier", "system"] as const;

/** `id` is that of the API key, also for a token of the key. `name` is that of the key, of the system user, or of the link. */
export type Actor = { type: (typeof ACTOR_TYPES)[number]; id: string | null; name: string | null };

export type ChangeOrigin = { actor: Actor; peer: string | null; requestId: string | null };

/** The service itself. */
export const SYSTEM_ORIGIN: ChangeOrigin = { actor: { type: "system", id: null, name: null }, peer: null, requestId: null };

/** A command of the operator. */
export const cliOrigin = (): ChangeOrigin => ({ actor: { type: "cli", id: null, name: userInfo().username }, peer: null, requestId: null });

export const carrierOrigin = (link: string): ChangeOrigin => ({
  actor: { type: "carrier", id: null, name: link },
  peer: null,
  requestId: null,
});

/** The actor as one text: the id of a key, or the type with the name, such as `cli:root`. */
export const actorText = ({ type, id, name }: Actor): string => id ?? (name === null ? type : `${type}:${name}`);

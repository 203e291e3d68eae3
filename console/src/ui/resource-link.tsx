/** A resource by its id or name, as a link to its page where the key may see it. */
import type { JSX } from "preact";
import { Link } from "../lib/router.tsx";
import { useSession } from "../session/use-session.ts";
import { Id } from "./id.tsx";

type Place = { path: string; scope: string };

/** The pages of single resources, by the type that the audit log has for them. */
const PLACES: Readonly<Record<string, Place>> = {
  key: { path: "keys", scope: "keys:read" },
  compatible_credential: { path: "keys", scope: "keys:read" },
  webhook_endpoint: { path: "endpoints", scope: "webhooks:read" },
  link: { path: "carriers", scope: "links:read" },
  template: { path: "templates", scope: "templates:read" },
  suppression: { path: "suppressions", scope: "suppressions:read" },
  request: { path: "requests", scope: "audit:read" },
  media: { path: "media", scope: "media:read" },
  message: { path: "messages", scope: "messages:read" },
};

export function ResourceLink({ type, id, name }: { type: string; id: string; name?: string | undefined }): JSX.Element {
  const session = useSession();
  const place = PLACES[type];
  const text = name === undefined ? <Id of={id} /> : <>{name}</>;
  return place !== undefined && session.may(place.scope) ? <Link to={`${place.path}/${id}`}>{text}</Link> : text;
}

/** The creator of a resource: the id of a key, or a text such as `cli:root`. Null for resources of version 0.1. */
export function CreatedBy({ by }: { by: string | null }): JSX.Element {
  if (by === null) return <span class="quiet">unknown</span>;
  return by.startsWith("key_") ? <ResourceLink type="key" id={by} /> : <code>{by}</code>;
}

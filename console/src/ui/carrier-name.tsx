/** The names of carriers on pages about messages. The record and the timeline of a message have the id of its link. */
import type { ComponentChildren, JSX } from "preact";
import { createContext } from "preact";
import { useContext, useMemo } from "preact/hooks";
import { words } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { ResourceLink } from "./resource-link.tsx";

/** The names by the ids of links. Undefined until they are loaded, and if the key may not read links. */
const Names = createContext<ReadonlyMap<string, string> | undefined>(undefined);

/** Loads the names once for the page. A link without a name, such as a deleted one, is shown by its id. */
export function CarrierNames({ children }: { children: ComponentChildren }): JSX.Element {
  const api = useApi();
  // The id of the simulator is its name.
  const isNeeded = useSession().identity.environment !== "test";
  const mayRead = useMay("links:read");
  const { data } = useResource(isNeeded && mayRead ? "links" : null, (signal) => api.links.list({ signal }));
  const names = useMemo(() => data && new Map(data.data.map(({ id, name }) => [id, name])), [data]);
  return <Names value={names}>{children}</Names>;
}

/** The name of a carrier, with its id as the title. */
export function CarrierName({ id }: { id: string }): JSX.Element {
  const name = useContext(Names)?.get(id);
  return name === undefined ? <>{id}</> : <span title={id}>{name}</span>;
}

/** The name of a carrier as a link to its page, with its id if that is another text. */
export function CarrierLink({ id }: { id: string }): JSX.Element {
  const names = useContext(Names);
  const name = names?.get(id);
  // A deleted carrier has no page.
  if (names !== undefined && name === undefined) return <code>{id}</code>;
  return (
    <>
      <ResourceLink type="link" id={id} name={name} /> {name !== undefined && name !== id && <code class="quiet">{id}</code>}
    </>
  );
}

const LINK_ID = /(\blnk_[0-9a-z]{26}\b)/;

/** The reason of a timeline entry: a code of the API, or a sentence that may have ids of links. */
export function Reason({ text }: { text: string }): JSX.Element {
  if (/^[a-z_]+$/.test(text)) return <>{words(text)}</>;
  // The pieces at odd positions are the ids.
  return <>{text.split(LINK_ID).map((piece, at) => (at % 2 === 0 ? piece : <CarrierName key={piece} id={piece} />))}</>;
}

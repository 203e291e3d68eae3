/** The message that another one quotes or reacts to, in small above it. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { excerpt } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { Link } from "../lib/router.tsx";
import { useApi } from "../session/use-session.ts";
import { summaryOf } from "./content-summary.ts";
import { Thumb } from "./media-view.tsx";

/** `known`: the message, if the page has it. */
export function Quoted({ id, known }: { id: string; known?: Message | undefined }): JSX.Element {
  const api = useApi();
  const { data: fetched, error } = useResource(known === undefined ? id : null, (signal) => api.messages.get(id, { signal }));
  const message = known ?? fetched;
  return (
    <blockquote class="quoted">
      <Link to={`messages/${id}`}>{message === undefined ? "Quoted message" : authorOf(message)}</Link>
      {message === undefined ? (
        <p class="quiet">{error === undefined ? "…" : "It could not be loaded."}</p>
      ) : (
        <p>
          <ContentSummary message={message} />
        </p>
      )}
    </blockquote>
  );
}

const authorOf = ({ direction, sender }: Message): string => (direction === "outbound" ? "You" : (sender ?? "Unknown"));

/** A message in a line: a small picture, what it is, and its text. */
export function ContentSummary({ message }: { message: Pick<Message, "body" | "content"> }): JSX.Element {
  const { label, text, picture } = summaryOf(message);
  if (label === null && text === null) return <span class="quiet">No text</span>;
  return (
    <>
      {picture !== null && <Thumb file={picture} />}
      {label !== null && <span class="content-kind">{label}</span>} {text !== null && excerpt(text)}
    </>
  );
}

/** The source of a file, with a link to the message that brought it. */
import type { Media } from "godwit-sdk";
import type { JSX } from "preact";
import { Link } from "../lib/router.tsx";

const WORDS: Readonly<Record<string, string>> = { upload: "uploaded", url: "fetched", inbound: "received" };

export const Source = ({ of: { source, message_id: message } }: { of: Media }): JSX.Element => {
  const text = WORDS[source] ?? source;
  return message === null ? <>{text}</> : <Link to={`messages/${message}`}>{text}</Link>;
};

/** The columns of the tables of messages. */
import type { Message } from "godwit-sdk";
import { apiTitle, excerpt } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Ago } from "../ui/moment.tsx";
import { ContentSummary } from "../ui/quoted.tsx";
import { Status } from "../ui/status.tsx";
import type { Column } from "../ui/table.tsx";

// A number fits on one line. The user id of WhatsApp can be long.
const isShort = (person: string | null): boolean => (person?.length ?? 0) <= 16;

export const COLUMNS: readonly Column<Message>[] = [
  {
    name: "Recipient",
    isRecord: true,
    cell: ({ id, direction, recipient, sender }) => (
      <Link to={`messages/${id}`} class={isShort(direction === "inbound" ? sender : recipient) ? "strong whole" : "strong"}>
        {direction === "inbound" ? `from ${sender ?? "unknown"}` : recipient}
      </Link>
    ),
  },
  { name: "Status", cell: ({ status }) => <Status of={status} /> },
  { name: "Error", cell: ({ error }) => (error === null ? <span class="quiet">–</span> : <MessageErrorCode code={error.code} />) },
  {
    name: "Text",
    cell: (message) => (
      <span class="excerpt">
        {message.body === null && message.content === null ? <span class="quiet">–</span> : <ContentSummary message={message} />}
      </span>
    ),
  },
  {
    name: "Channel",
    cell: ({ channel, source }) => (
      <>
        <span class="whole">{channel}</span> {source !== null && <span class="quiet">{apiTitle(source)} API</span>}
      </>
    ),
  },
  {
    name: "Reference",
    cell: ({ client_reference: reference }) => (reference === null ? <span class="quiet">–</span> : excerpt(reference)),
  },
  { name: "Created", cell: ({ created_at: at }) => <Ago iso={at} /> },
];

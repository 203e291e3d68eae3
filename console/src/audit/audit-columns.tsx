/** The columns of the table of audit events. */
import type { AuditEvent } from "godwit-sdk";
import type { JSX } from "preact";
import { plural, words } from "../lib/format.ts";
import { Moment } from "../ui/moment.tsx";
import { ResourceLink } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";
import type { Column } from "../ui/table.tsx";

export const COLUMNS: readonly Column<AuditEvent>[] = [
  { name: "Time", cell: ({ created_at: at }) => <Moment iso={at} /> },
  { name: "Actor", cell: ({ actor }) => <Actor of={actor} /> },
  {
    name: "Action",
    cell: ({ action, environment }) => (
      <>
        <ActionName of={action} /> {environment === null && <span class="quiet">whole account</span>}
      </>
    ),
  },
  { name: "Target", cell: ({ target }) => <Target of={target} /> },
  { name: "Changes", cell: ({ changes }) => <Changes of={changes} /> },
  { name: "Request", cell: (event) => <Request of={event} /> },
  { name: "Hash", cell: ({ hash }) => <Hash of={hash} /> },
];

/** The name can break after its dot. */
const ActionName = ({ of: action }: { of: string }): JSX.Element => (
  <strong class="action-name">{action.split(".").flatMap((part, at) => (at === 0 ? [part] : [".", <wbr key={part} />, part]))}</strong>
);

/** The type and the name of the actor, and its id as a link: those of a token are those of its key. */
const Actor = ({ of: { type, id, name } }: { of: AuditEvent["actor"] }): JSX.Element => (
  <>
    {words(type)} {name !== null && <strong>{name}</strong>} {id !== null && <ResourceLink type="key" id={id} />}
  </>
);

const Target = ({ of: { type, id } }: { of: AuditEvent["target"] }): JSX.Element => (
  <>
    {words(type)} {id !== null && <ResourceLink type={type} id={id} />}
  </>
);

const FEW = 2;

/** The names of the changed fields, or their number, which unfold to their new values. */
function Changes({ of: changes }: { of: AuditEvent["changes"] }): JSX.Element {
  const fields = Object.entries(changes);
  if (fields.length === 0) return <span class="quiet">–</span>;
  return (
    <details class="in-cell">
      <summary>{fields.length > FEW ? plural(fields.length, "field") : fields.map(([name]) => words(name)).join(", ")}</summary>
      <dl class="raw">
        {fields.map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{typeof value === "string" ? value : JSON.stringify(value)}</dd>
          </div>
        ))}
      </dl>
    </details>
  );
}

/** The address and the id of the request. A change by a command or by the service itself has neither. */
function Request({ of: { peer, request_id: requestId } }: { of: AuditEvent }): JSX.Element {
  if (peer === null && requestId === null) return <span class="quiet">–</span>;
  return (
    <>
      {peer !== null && `from ${peer}`} {requestId !== null && <ResourceLink type="request" id={requestId} />}
    </>
  );
}

/** Whether the entry is a link of the hash chain, which takes about a second. */
function Hash({ of: hash }: { of: string | null }): JSX.Element {
  if (hash === null) return <Status of="unsealed" />;
  return (
    <details class="in-cell">
      <summary class="whole">
        <Status of="sealed" />
      </summary>
      <code>{hash}</code>
    </details>
  );
}

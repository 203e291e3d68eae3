/** The columns of the table of keys, with the actions for each key. */
import type { Key } from "godwit-sdk";
import type { JSX } from "preact";
import type { Identity } from "../session/session.ts";
import { Ago } from "../ui/moment.tsx";
import { CreatedBy } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";
import type { Column } from "../ui/table.tsx";
import { FoldedList } from "./folded-list.tsx";
import { keyName, keyState } from "./key-state.ts";

export type OpenDialog = (kind: "rotate" | "revoke", key: Key) => void;

/** Without `onOpen` there is no column of actions. */
export const keyColumns = (own: Identity, onOpen: OpenDialog | undefined): Column<Key>[] => [
  {
    name: "Name",
    cell: ({ id, name }) => (
      <>
        {name === null ? <span class="quiet">unnamed</span> : <strong>{name}</strong>}
        {id === own.keyId && <span class="own">this session</span>}
      </>
    ),
  },
  { name: "Key", cell: ({ hint }) => <code class="whole">{hint}</code> },
  { name: "State", cell: (key) => <Status of={keyState(key)} /> },
  { name: "Scopes", cell: ({ scopes }) => <FoldedList of={scopes} one="scope" areShort /> },
  { name: "Addresses", cell: ({ allowed_ips: blocks }) => <Addresses of={blocks} /> },
  { name: "Created", cell: (key) => <Created of={key} /> },
  { name: "Last used", cell: ({ last_used_at: at }) => <When iso={at} otherwise="never" /> },
  {
    name: "Expires",
    cell: ({ expires_at: at, revoked_at: revokedAt }) =>
      revokedAt === null ? (
        <When iso={at} otherwise="never" />
      ) : (
        <span class="quiet">
          revoked <Ago iso={revokedAt} />
        </span>
      ),
  },
  ...(onOpen === undefined
    ? []
    : [{ name: "Actions", isAction: true, cell: (key: Key) => <Buttons of={key} own={own} onOpen={onOpen} /> }]),
];

const Addresses = ({ of: blocks }: { of: readonly string[] | null }): JSX.Element =>
  blocks === null ? <span class="quiet">any</span> : <FoldedList of={blocks} one="block" />;

export const Created = ({ of: { created_at: at, created_by: by } }: { of: Pick<Key, "created_at" | "created_by"> }): JSX.Element => (
  <>
    <Ago iso={at} />{" "}
    <span class="quiet">
      by <CreatedBy by={by} />
    </span>
  </>
);

export const When = ({ iso, otherwise }: { iso: string | null; otherwise: string }): JSX.Element =>
  iso === null ? <span class="quiet">{otherwise}</span> : <Ago iso={iso} />;

function Buttons({ of: key, own, onOpen }: { of: Key; own: Identity; onOpen: OpenDialog }): JSX.Element | null {
  if (keyState(key) !== "active") return null;
  // A rotation creates a key, so the caller needs all scopes of the key.
  const mayRotate = key.scopes.every((scope) => own.scopes.includes(scope));
  return (
    <div class="actions end">
      {mayRotate && (
        <button type="button" class="small" onClick={() => onOpen("rotate", key)}>
          Rotate <span class="unseen">{keyName(key)}</span>
        </button>
      )}
      <button type="button" class="small" onClick={() => onOpen("revoke", key)}>
        Revoke <span class="unseen">{keyName(key)}</span>
      </button>
    </div>
  );
}

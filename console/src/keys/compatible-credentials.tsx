/** The credentials of compatible APIs, with which applications of Twilio and Kannel send through this environment. */
import type { CompatibleCredential } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { useAction } from "../lib/action.ts";
import { apiTitle } from "../lib/format.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { FormDialog } from "../ui/dialog.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded } from "../ui/page.tsx";
import { More, singlePage, useList } from "../ui/pages.tsx";
import { ResourceLink } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { useToast } from "../ui/toast.tsx";
import { CreateCredential } from "./create-credential.tsx";
import { FoldedList } from "./folded-list.tsx";
import { Created, When } from "./key-columns.tsx";

type Open = { kind: "none" } | { kind: "create" } | { kind: "revoke"; credential: CompatibleCredential };

/** With an id, only that credential is shown. */
export function CompatibleCredentials({ id }: { id: string | undefined }): JSX.Element {
  const api = useApi();
  const mayWrite = useMay("keys:write");
  const [open, setOpen] = useState<Open>({ kind: "none" });
  const close = (): void => setOpen({ kind: "none" });
  const list = useList(`compatible credentials ${id ?? ""}`, async (cursor, signal) =>
    id === undefined
      ? api.compatibleCredentials.list({ limit: 100 }, { signal }).page(cursor)
      : singlePage(await api.compatibleCredentials.get(id, { signal })),
  );
  const onChanged = (): void => {
    close();
    list.resource.reload();
  };
  const columns = mayWrite ? [...COLUMNS, revokeColumn((credential) => setOpen({ kind: "revoke", credential }))] : COLUMNS;
  return (
    <section class="card" aria-label="Credentials of compatible APIs">
      <div class="card-head">
        <h2>Credentials of compatible APIs</h2>
        {mayWrite && (
          <button type="button" onClick={() => setOpen({ kind: "create" })}>
            Create a credential
          </button>
        )}
      </div>
      <Loaded resource={list.resource} lines={1}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty title="No credentials of compatible APIs">
              <p>
                A credential is a user name and a password with which an application of Twilio or Kannel sends through this environment,
                after a change of its URL. <a href="/docs/migrate-from-twilio">Move from Twilio</a> ·{" "}
                <a href="/docs/migrate-from-kannel">Move from Kannel</a>
              </p>
            </Empty>
          ) : (
            <Table label="Credentials of compatible APIs" columns={columns} rows={items} keyOf={(row) => row.id} />
          )
        }
      </Loaded>
      <More list={list} />
      {open.kind === "create" && <CreateCredential onClose={close} onDone={onChanged} />}
      {open.kind === "revoke" && <RevokeCredential of={open.credential} onClose={close} onDone={onChanged} />}
    </section>
  );
}

const COLUMNS: readonly Column<CompatibleCredential>[] = [
  { name: "User name", cell: ({ user_name: name }) => <code>{name}</code> },
  { name: "API", cell: ({ source }) => apiTitle(source), isShort: true },
  {
    name: "State",
    cell: ({ revoked_at: at }) => (
      <>
        <Status of={at === null ? "active" : "revoked"} /> {at !== null && <Ago iso={at} />}
      </>
    ),
  },
  { name: "Settings", cell: ({ settings }) => <Settings of={Object.entries(settings)} /> },
  { name: "Scopes", cell: ({ scopes }) => <FoldedList of={scopes} one="scope" areShort /> },
  { name: "Callbacks", cell: ({ endpoint_id: id }) => <ResourceLink type="webhook_endpoint" id={id} name="Endpoint" /> },
  { name: "Created", cell: (credential) => <Created of={credential} /> },
  { name: "Last used", cell: ({ last_used_at: at }) => <When iso={at} otherwise="never" /> },
];

const Settings = ({ of: settings }: { of: readonly [name: string, value: string][] }): JSX.Element =>
  settings.length === 0 ? <span class="quiet">–</span> : <FoldedList of={settings.map((each) => each.join("="))} one="setting" />;

const revokeColumn = (onRevoke: (credential: CompatibleCredential) => void): Column<CompatibleCredential> => ({
  name: "Actions",
  isAction: true,
  cell: (credential) =>
    credential.revoked_at === null && (
      <button type="button" class="small" onClick={() => onRevoke(credential)}>
        Revoke <span class="unseen">{credential.user_name}</span>
      </button>
    ),
});

type RevokeProps = { of: CompatibleCredential; onClose: () => void; onDone: () => void };

function RevokeCredential({ of: { id, user_name: name }, onClose, onDone }: RevokeProps): JSX.Element {
  const api = useApi();
  const say = useToast();
  const action = useAction(async () => {
    await api.compatibleCredentials.revoke(id);
    say(`${name} is revoked`);
    onDone();
  });
  return (
    <FormDialog title={`Revoke ${name}?`} submit="Revoke" isDangerous action={action} onClose={onClose}>
      <p>
        The credential stops working within about a second, and its application gets no more inbound messages. The outcomes of messages that
        it has sent are still reported. This cannot be undone.
      </p>
    </FormDialog>
  );
}

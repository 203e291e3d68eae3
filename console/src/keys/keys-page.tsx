/** The API keys of this environment, with their scopes and expiry, and its credentials of compatible APIs. */
import { ApiError, type Key } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { Link } from "../lib/router.tsx";
import { useApi, useMay, useSession } from "../session/use-session.ts";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, singlePage, useList } from "../ui/pages.tsx";
import { Table } from "../ui/table.tsx";
import { CompatibleCredentials } from "./compatible-credentials.tsx";
import { CreateKey } from "./create-key.tsx";
import { keyColumns } from "./key-columns.tsx";
import { RevokeKey } from "./revoke-key.tsx";
import { RotateKey } from "./rotate-key.tsx";

type Open = { kind: "none" } | { kind: "create" } | { kind: "rotate" | "revoke"; key: Key };

/** With an id, the page shows that key or credential. */
export function KeysPage({ id }: { id?: string }): JSX.Element {
  const api = useApi();
  const { identity } = useSession();
  const mayWrite = useMay("keys:write");
  const [open, setOpen] = useState<Open>({ kind: "none" });
  const close = (): void => setOpen({ kind: "none" });
  const list = useList(`keys ${id ?? ""}`, async (cursor, signal) =>
    id === undefined ? api.keys.list({ limit: 100 }, { signal }).page(cursor) : singlePage(await api.keys.get(id, { signal })),
  );
  const onChanged = (): void => {
    close();
    list.resource.reload();
  };
  // The credentials of compatible APIs have ids of keys, for example in the request log.
  const { error } = list.resource;
  const isNoKey = id !== undefined && error instanceof ApiError && error.code === "not_found";
  const onOpen = mayWrite ? (kind: "rotate" | "revoke", key: Key): void => setOpen({ kind, key }) : undefined;
  return (
    <Page
      title="Keys"
      lead={
        id === undefined ? (
          `API keys of the ${identity.environment} environment, newest first. A key is shown only once, when it is created.`
        ) : (
          <Link to="keys">All keys</Link>
        )
      }
      actions={
        mayWrite && (
          <button type="button" class="primary" onClick={() => setOpen({ kind: "create" })}>
            Create a key
          </button>
        )
      }
    >
      {!isNoKey && (
        <section class="card" aria-label="Keys">
          <Loaded resource={list.resource}>
            {({ items }) =>
              items.length === 0 ? (
                <Empty title="No keys" />
              ) : (
                <Table label="Keys" columns={keyColumns(identity, onOpen)} rows={items} keyOf={(row) => row.id} />
              )
            }
          </Loaded>
          <More list={list} />
        </section>
      )}
      {(id === undefined || isNoKey) && <CompatibleCredentials id={id} />}
      {open.kind === "create" && <CreateKey onClose={close} onDone={onChanged} />}
      {open.kind === "rotate" && <RotateKey of={open.key} isOwn={open.key.id === identity.keyId} onClose={close} onDone={onChanged} />}
      {open.kind === "revoke" && <RevokeKey of={open.key} isOwn={open.key.id === identity.keyId} onClose={close} onDone={onChanged} />}
    </Page>
  );
}

/** The list of suppressions, with the actions to add and lift them. */
import type { Suppression } from "godwit-sdk";
import type { JSX } from "preact";
import { useState } from "preact/hooks";
import { cleanNumber } from "../../../src/bulk/clean-number.ts";
import { Link, replaceQuery, useAddress } from "../lib/router.tsx";
import { useDebounced } from "../lib/timing.ts";
import { useApi, useMay } from "../session/use-session.ts";
import { SelectField, TextField } from "../ui/field.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded, Page } from "../ui/page.tsx";
import { More, singlePage, useList } from "../ui/pages.tsx";
import { CreatedBy } from "../ui/resource-link.tsx";
import { Status } from "../ui/status.tsx";
import { Table, type Column } from "../ui/table.tsx";
import { AddSuppression } from "./add-suppression.tsx";
import { LiftSuppression } from "./lift-suppression.tsx";
import { SuppressionHistory } from "./suppression-history.tsx";

type Open = { kind: "none" } | { kind: "add" } | { kind: "lift" | "history"; suppression: Suppression };

/** With an id, the page shows that suppression, without filters. */
export function SuppressionsPage({ id }: { id?: string }): JSX.Element {
  const api = useApi();
  const mayWrite = useMay("suppressions:write");
  const { query } = useAddress();
  const recipient = query.get("recipient") ?? "";
  const status = query.get("status") === "lifted" ? "lifted" : "active";
  const debouncedRecipient = useDebounced(cleanNumber(recipient), 300);
  const [open, setOpen] = useState<Open>({ kind: "none" });
  const close = (): void => setOpen({ kind: "none" });
  const list = useList(`suppressions ${id ?? ""} ${status} ${debouncedRecipient}`, async (cursor, signal) =>
    id === undefined
      ? api.suppressions.list({ status, ...(debouncedRecipient === "" ? {} : { recipient: debouncedRecipient }) }, { signal }).page(cursor)
      : singlePage(await api.suppressions.get(id, { signal })),
  );
  const onChanged = (): void => {
    close();
    list.resource.reload();
  };
  return (
    <Page
      title="Suppressions"
      lead={
        id === undefined ? (
          "Recipients who receive no messages on any channel, or none from one sender: those who replied STOP, and those that you add."
        ) : (
          <Link to="suppressions">All suppressions</Link>
        )
      }
      actions={
        mayWrite && (
          <button type="button" class="primary" onClick={() => setOpen({ kind: "add" })}>
            Add a recipient
          </button>
        )
      }
    >
      {id === undefined && <Filters recipient={recipient} status={status} />}
      <section class="card" aria-label="Suppressions">
        <Loaded resource={list.resource}>
          {({ items }) =>
            items.length === 0 ? (
              <Empty title={emptyTitle(status, debouncedRecipient)}>
                <p>A recipient who replies STOP is added automatically. START lifts the suppression.</p>
              </Empty>
            ) : (
              <Table label="Suppressions" columns={columns(mayWrite, setOpen)} rows={items} keyOf={(row) => row.id} />
            )
          }
        </Loaded>
        <More list={list} />
      </section>
      {open.kind === "add" && <AddSuppression onClose={close} onDone={onChanged} />}
      {open.kind === "lift" && <LiftSuppression suppression={open.suppression} onClose={close} onDone={onChanged} />}
      {open.kind === "history" && <SuppressionHistory suppression={open.suppression} onClose={close} />}
    </Page>
  );
}

function Filters({ recipient, status }: { recipient: string; status: "active" | "lifted" }): JSX.Element {
  const filter = (change: Record<string, string>): void => {
    const chosen = Object.entries({ recipient, ...(status === "lifted" ? { status } : {}), ...change }).filter(([, value]) => value !== "");
    replaceQuery(new URLSearchParams(chosen));
  };
  return (
    <div class="filters">
      <TextField
        label="Recipient"
        type="search"
        placeholder="+14155550123"
        value={recipient}
        onValue={(value) => filter({ recipient: value })}
      />
      <SelectField
        label="State"
        value={status}
        onValue={(value) => filter({ status: value === "lifted" ? value : "" })}
        options={[
          ["active", "Suppressed"],
          ["lifted", "Lifted"],
        ]}
      />
    </div>
  );
}

const emptyTitle = (status: string, recipient: string): string => {
  if (status === "lifted") return "No suppression was lifted";
  return recipient === "" ? "No suppressed recipients" : "This recipient is not suppressed";
};

const columns = (mayWrite: boolean, setOpen: (open: Open) => void): Column<Suppression>[] => [
  { name: "Recipient", cell: ({ recipient }) => <strong>{recipient}</strong> },
  { name: "State", cell: ({ status }) => <Status of={status === "active" ? "suppressed" : status} /> },
  { name: "Sender", cell: ({ sender }) => sender ?? <span class="quiet">any</span> },
  { name: "Reason", cell: (suppression) => <Reason of={suppression} /> },
  { name: "Since", cell: ({ updated_at: since }) => <Ago iso={since} /> },
  { name: "Created by", cell: ({ created_by: by }) => <CreatedBy by={by} /> },
  {
    name: "Actions",
    isAction: true,
    cell: (suppression) => (
      <div class="actions end">
        <button type="button" class="small" onClick={() => setOpen({ kind: "history", suppression })}>
          History
        </button>
        {mayWrite && suppression.status === "active" && (
          <button type="button" class="small" onClick={() => setOpen({ kind: "lift", suppression })}>
            Lift
          </button>
        )}
      </div>
    ),
  },
];

const REASONS: Readonly<Record<string, string>> = { import: "imported", carrier: "reported by the carrier" };

function Reason({ of: { source, keyword, message_id: messageId, note } }: { of: Suppression }): JSX.Element {
  return (
    <>
      {REASONS[source] ?? (source === "keyword" ? `replied ${keyword ?? "an opt-out word"}` : "added")}
      {messageId !== null && (
        <>
          {" "}
          in <Link to={`messages/${messageId}`}>a message</Link>
        </>
      )}
      {note !== null && <span class="quiet"> · {note}</span>}
    </>
  );
}

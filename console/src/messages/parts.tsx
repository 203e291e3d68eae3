/** The transmitted parts of a message, each with its delivery receipts. */
import type { Message, TimelineEntry } from "godwit-sdk";
import type { JSX } from "preact";
import { words } from "../lib/format.ts";
import { useResource } from "../lib/resource.ts";
import { useOnChange } from "../lib/timing.ts";
import { useApi } from "../session/use-session.ts";
import { MessageErrorCode } from "../ui/error-code.tsx";
import { Ago } from "../ui/moment.tsx";
import { Empty, Loaded } from "../ui/page.tsx";
import { Status } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";

export function Parts({ message, entries }: { message: Message; entries: readonly TimelineEntry[] }): JSX.Element {
  const api = useApi();
  const parts = useResource(message.id, async (signal) => (await api.messages.parts(message.id, { signal }).page()).data);
  // A receipt may change only its part and not the message, so every new entry of the timeline reloads the parts.
  useOnChange(`${message.sequence} ${entries.length}`, parts.reload);
  const count = message.segments?.count ?? 1;
  const describeReceipts = (number: number): string =>
    entries
      .filter(({ receipt }) => receipt !== null && (receipt.part ?? 1) === number)
      .map(({ receipt }) => words(receipt?.status ?? ""))
      .join(", ");
  return (
    <section class="card" aria-label="Parts">
      <h2>Parts</h2>
      {parts.data !== undefined && parts.data.length > 0 && parts.data.length < count && (
        <p class="quiet beside">The carrier uses one id for all {count} parts.</p>
      )}
      <Loaded resource={parts} lines={2}>
        {(rows) =>
          rows.length === 0 ? (
            <Empty title="Not submitted to a carrier yet" />
          ) : (
            <Table
              label="Parts"
              rows={rows}
              keyOf={({ number }) => String(number)}
              columns={[
                { name: "Part", cell: ({ number }) => number },
                { name: "Status", cell: ({ status }) => <Status of={status} /> },
                { name: "Receipts", cell: ({ number }) => describeReceipts(number) || <span class="quiet">none</span> },
                {
                  name: "Error",
                  cell: ({ error }) => (error === null ? <span class="quiet">–</span> : <MessageErrorCode code={error.code} />),
                },
                { name: "Carrier id", cell: ({ provider_message_id: id }) => (id === null ? "–" : <code>{id}</code>) },
                { name: "Changed", cell: ({ updated_at: at }) => <Ago iso={at} /> },
              ]}
            />
          )
        }
      </Loaded>
    </section>
  );
}

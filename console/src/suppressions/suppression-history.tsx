/** The history of a suppression: each time it became active or was lifted, with its source. */
import type { Suppression } from "godwit-sdk";
import type { JSX } from "preact";
import { useApi } from "../session/use-session.ts";
import { Dialog } from "../ui/dialog.tsx";
import { Moment } from "../ui/moment.tsx";
import { Loaded } from "../ui/page.tsx";
import { More, useList } from "../ui/pages.tsx";
import { Status } from "../ui/status.tsx";
import { Table } from "../ui/table.tsx";

export function SuppressionHistory({ suppression, onClose }: { suppression: Suppression; onClose: () => void }): JSX.Element {
  const api = useApi();
  const list = useList(suppression.id, (cursor, signal) => api.suppressions.history(suppression.id, {}, { signal }).page(cursor));
  return (
    <Dialog title={`History of ${suppression.recipient}`} onClose={onClose}>
      <Loaded resource={list.resource}>
        {({ items }) => (
          <Table
            label="History"
            rows={items}
            keyOf={({ id }) => id}
            columns={[
              { name: "When", cell: ({ at }) => <Moment iso={at} /> },
              { name: "State", cell: ({ status }) => <Status of={status === "active" ? "suppressed" : status} /> },
              { name: "By", cell: ({ source, keyword }) => keyword ?? source },
              { name: "Note", cell: ({ note }) => note ?? "" },
            ]}
          />
        )}
      </Loaded>
      <More list={list} />
      <div class="actions end">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Dialog>
  );
}

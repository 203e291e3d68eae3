/** The messages with a text, a part of a number or a part of a reference, found among the newest messages of the filters. */
import type { Message } from "godwit-sdk";
import type { JSX } from "preact";
import { formatCount } from "../lib/format.ts";
import { Link } from "../lib/router.tsx";
import { useScan } from "../lib/scan.ts";
import { useApi } from "../session/use-session.ts";
import { Empty } from "../ui/page.tsx";
import { ScanStatus } from "../ui/scan-status.tsx";
import { Table } from "../ui/table.tsx";
import { toQuery, withFilter, type Filters } from "./filters.ts";
import { COLUMNS } from "./message-columns.tsx";
import { MAX_FOUND, MAX_PAGES, PAGE, textMatcher } from "./text-search.ts";

export function SearchedMessages({ filters, text }: { filters: Filters; text: string }): JSX.Element {
  const api = useApi();
  const scan = useScan<Message>(JSON.stringify(filters), {
    fetchPage: (cursor, signal) => api.messages.list({ ...toQuery(filters, Date.now()), limit: PAGE }, { signal }).page(cursor),
    isWanted: textMatcher(text),
    maxPages: MAX_PAGES,
    maxFound: MAX_FOUND,
  });
  const byReference = withFilter({ ...filters, search: "" }, "client_reference", text);
  return (
    <section class="card" aria-label="Search results" aria-busy={scan.isRunning}>
      <ScanStatus scan={scan} item="message" />
      {scan.found.length > 0 && <Table label="Search results" columns={COLUMNS} rows={scan.found} keyOf={({ id }) => id} />}
      {scan.found.length === 0 && !scan.isRunning && (
        <Empty title="No message found">
          <p>
            The search looked for “{text}” in the texts, numbers, carrier ids and references of {formatCount(scan.read)} messages. To find
            all messages of a client reference, however old,{" "}
            <Link to="messages" query={byReference}>
              filter by the exact reference
            </Link>
            .
          </p>
        </Empty>
      )}
    </section>
  );
}

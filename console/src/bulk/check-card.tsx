/** The preview of a checked file: its counts, its faults, and its first messages as a phone shows them. */
import type { ComponentChildren, JSX } from "preact";
import { SHOWN_FAULTS, type BulkPreview } from "../../../src/bulk/preview.ts";
import { countRefused, estimateCost, type Sample } from "../../../src/bulk/samples.ts";
import { formatCount, plural } from "../lib/format.ts";
import { CarrierName } from "../ui/carrier-name.tsx";
import { ErrorCode } from "../ui/error-code.tsx";
import { Facts } from "../ui/facts.tsx";
import { NextStep } from "../ui/next-step.tsx";
import { Segments } from "../ui/segments.tsx";
import { Table, type Column } from "../ui/table.tsx";
import type { Check } from "./check-file.ts";

/** The children are beside the counts, so that they are on the first screen. */
export const CheckCard = ({ check: { preview, samples }, children }: { check: Check; children: ComponentChildren }): JSX.Element => (
  <>
    <section class="card stack" aria-label="Preview">
      <h2>Preview</h2>
      <Counts preview={preview} samples={samples} />
      {children}
      {samples.map((sample) => (
        <Example key={sample.row.row} sample={sample} />
      ))}
    </section>
    {preview.faults.length > 0 && (
      <section class="card" aria-label="Invalid rows">
        <h2>{plural(preview.invalid, "invalid row")}</h2>
        <Table label="Invalid rows" columns={FAULT_COLUMNS} rows={preview.faults} keyOf={({ row }) => String(row)} />
        {preview.invalid > SHOWN_FAULTS && <p class="quiet beside">These are the first {SHOWN_FAULTS}. The result file has all of them.</p>}
      </section>
    )}
  </>
);

function Counts({ preview, samples }: { preview: BulkPreview; samples: readonly Sample[] }): JSX.Element {
  const estimate = estimateCost(preview, samples);
  const refused = countRefused(samples);
  const { rows, valid, invalid, duplicates, segments, ucs2 } = preview;
  return (
    <Facts
      rows={[
        ["Rows", formatCount(rows)],
        ["Valid", formatCount(valid - refused)],
        ["Refused", refused > 0 && `${formatCount(refused)}, as shown below; other rows are checked when they are sent`],
        ["Invalid", invalid > 0 && `${formatCount(invalid)}, not sent`],
        ["Duplicates", duplicates > 0 && plural(duplicates, "repeated recipient")],
        ["Segments", segments > 0 && formatCount(segments)],
        ["UCS-2", ucs2 > 0 && plural(ucs2, "text")],
        [
          "Cost",
          estimate !== undefined &&
            `about ${estimate.cost.toFixed(2)}, by the prices of the carriers${
              estimate.unpricedRows === 0 ? "" : `; ${plural(estimate.unpricedRows, "row has", "rows have")} no price`
            }`,
        ],
      ]}
    />
  );
}

const Example = ({ sample: { row, validation } }: { sample: Sample }): JSX.Element => (
  <div class="stack">
    <p class="quiet">
      Row {row.row} to {row.recipient}
      {validation.route !== null && (
        <>
          {" "}
          via <CarrierName id={validation.route.link} />
        </>
      )}
    </p>
    {validation.body !== null && <p class="bubble bulk-bubble">{validation.body}</p>}
    {row.segments !== null && (
      <p class="quiet">
        <Segments of={row.segments} />
      </p>
    )}
    {validation.errors.map(({ pointer, code, detail }) => (
      <div key={`${pointer} ${code}`}>
        <p class="fault">
          {detail} <ErrorCode code={code} />
        </p>
        <NextStep code={code} recipient={row.recipient} />
      </div>
    ))}
  </div>
);

const FAULT_COLUMNS: readonly Column<BulkPreview["faults"][number]>[] = [
  { name: "Row", isNumber: true, cell: ({ row }) => row },
  { name: "Recipient", cell: ({ recipient }) => recipient },
  { name: "Fault", cell: ({ fault }) => fault?.detail },
];

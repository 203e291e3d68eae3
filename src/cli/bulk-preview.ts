/** The preview of a bulk send, for people and as JSON. */
import { IGNORED } from "../bulk/columns.ts";
import { SHOWN_FAULTS, type BulkPreview } from "../bulk/preview.ts";
import { headingsOf } from "../bulk/read-rows.ts";
import type { BulkSettings } from "../bulk/rows.ts";
import { estimateCost, type Sample } from "../bulk/samples.ts";
import { formatRecord } from "./output.ts";

export type ShownPreview = {
  path: string;
  headings: readonly string[];
  preview: BulkPreview;
  samples: readonly Sample[];
  settings: BulkSettings;
  environment: string;
};

const count = (number: number, noun: string): string => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;

export function describePreview(shown: ShownPreview): string {
  const { path, preview, samples, environment } = shown;
  const { rows, valid, invalid, duplicates, segments, ucs2 } = preview;
  const estimate = estimateCost(preview, samples);
  const record = {
    file: `${path}, ${count(rows, "row")}, to ${environment}`,
    columns: describeColumns(shown),
    valid: `${count(valid, "row")}${segments === 0 ? "" : `, ${count(segments, "segment")}${ucs2 === 0 ? "" : `, ${ucs2.toLocaleString("en")} of the texts in UCS-2`}`}`,
    invalid:
      invalid === 0 ? null : `${count(invalid, "row")}, not sent${duplicates === 0 ? "" : `; ${count(duplicates, "duplicate recipient")}`}`,
    cost: estimate === undefined ? null : describeCost(estimate),
  };
  return `${formatRecord(record, false)}${faultLines(preview)}${samples.map(sampleLine).join("")}`;
}

const describeColumns = ({ headings, settings: { targets } }: ShownPreview): string => {
  const used = headings.flatMap((heading, at) => (targets[at] === IGNORED ? [] : [`${heading} → ${targets[at]}`]));
  const ignored = headingsOf(headings, targets, (target) => target === IGNORED);
  return [...used, ...(ignored.length === 0 ? [] : [`not used: ${ignored.join(", ")}`])].join("; ");
};

const describeCost = ({ cost, unpricedRows }: { cost: number; unpricedRows: number }): string =>
  `about ${cost.toFixed(2)}, by the prices of the links${unpricedRows === 0 ? "" : `; without ${count(unpricedRows, "row")} that have no price`}`;

function faultLines({ faults, invalid }: BulkPreview): string {
  const lines = faults.map(({ row, recipient, fault }) => `  row ${row}  ${recipient}  ${fault?.detail} (${fault?.code})\n`);
  return `${lines.join("")}${invalid > SHOWN_FAULTS ? `  and ${count(invalid - SHOWN_FAULTS, "more row")}\n` : ""}`;
}

function sampleLine({ row: { row, recipient }, validation: { body, segments, route, errors } }: Sample): string {
  const via = [segments === null ? "" : count(segments.count, "segment"), route === null ? "" : `via ${route.link}`].filter(
    (part) => part !== "",
  );
  const text = body === null ? "" : `\n    ${body.replaceAll("\n", "\n    ")}`;
  const faults = errors.map(({ pointer, code, detail }) => `\n    ${pointer === "" ? "" : `${pointer.slice(1)}: `}${detail} (${code})`);
  return `example: row ${row} to ${recipient} (${via.join(", ")})${text}${faults.join("")}\n`;
}

/** `object`: distinguishes it from the result of a send. */
export const previewRecord = ({ headings, preview, samples, settings, environment }: ShownPreview) => ({
  object: "bulk_preview",
  environment,
  columns: Object.fromEntries(headings.map((heading, at) => [heading, settings.targets[at]])),
  rows: preview.rows,
  valid: preview.valid,
  invalid: preview.invalid,
  duplicates: preview.duplicates,
  segments: preview.segments,
  cost: estimateCost(preview, samples)?.cost ?? null,
  faults: preview.faults.map(({ row, recipient, fault }) => ({ row, recipient, ...fault })),
  samples: samples.map(({ row: { row, recipient }, validation }) => ({ row, recipient, ...validation })),
  send_id: settings.sendId,
});

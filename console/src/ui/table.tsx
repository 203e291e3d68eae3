/** A table that becomes a list of cards where there is no room for columns. */
import type { ComponentChildren, JSX } from "preact";

export type Column<Row> = {
  name: string;
  cell: (row: Row) => ComponentChildren;
  isNumber?: boolean;
  /** For buttons: the column has no visible heading. */
  isAction?: boolean;
};

type TableProps<Row> = {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** For few and short columns, which fit on every screen. */
  isNarrow?: boolean;
};

export const Table = <Row,>({ label, columns, rows, keyOf, isNarrow = false }: TableProps<Row>): JSX.Element => (
  <div class="table-frame">
    <table aria-label={label} class={isNarrow ? "narrow" : undefined}>
      <thead>
        <tr>
          {columns.map(({ name, isNumber, isAction }) => (
            <th key={name} scope="col" class={isNumber ? "number" : undefined}>
              {isAction ? <span class="unseen">{name}</span> : name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {rows.map((row) => (
          <tr key={keyOf(row)}>
            {columns.map(({ name, cell, isNumber, isAction }) => (
              <td key={name} data-name={isAction ? undefined : name} class={isNumber ? "number" : isAction ? "action" : undefined}>
                <div>{cell(row)}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

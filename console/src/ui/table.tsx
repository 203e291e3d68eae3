/** A table that becomes a list of cards where there is no room for columns. */
import type { ComponentChildren, JSX } from "preact";

export type Column<Row> = {
  name: string;
  cell: (row: Row) => ComponentChildren;
  isNumber?: boolean;
  /** For one or two words, which stay in one line. */
  isShort?: boolean;
  /** For buttons: the column has no visible heading. */
  isAction?: boolean;
  /** The link of the cell opens the record of the row, and so does a click beside it. */
  isRecord?: boolean;
};

type TableProps<Row> = {
  label: string;
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  /** For few and short columns, which fit on every screen. */
  isNarrow?: boolean;
};

const classOf = ({ isNumber, isAction, isShort, isRecord }: Omit<Column<never>, "name" | "cell">): string | undefined =>
  isNumber ? "number" : isAction ? "action" : isShort ? "short" : isRecord ? "record" : undefined;

/** Opens the record of a row. Other controls keep their clicks, and a selection of text stays. */
function openRecord(event: MouseEvent): void {
  const { target, currentTarget, ctrlKey, metaKey, shiftKey } = event;
  if (!(target instanceof Element) || !(currentTarget instanceof Element)) return;
  if (target.closest("a, button, input, select, label, summary") !== null || getSelection()?.isCollapsed === false) return;
  const link = currentTarget.querySelector("td.record a");
  link?.dispatchEvent(new MouseEvent("click", { bubbles: true, cancelable: true, ctrlKey, metaKey, shiftKey }));
}

/** An empty cell has a dash, so that it does not look like one that is still loading. */
const orDash = (content: ComponentChildren): ComponentChildren =>
  content === "" || content === null || content === undefined || content === false ? <span class="quiet">–</span> : content;

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
          // The link is for the keyboard.
          <tr key={keyOf(row)} onClick={openRecord}>
            {columns.map((column) => (
              <td key={column.name} data-name={column.isAction ? undefined : column.name} class={classOf(column)}>
                <div>{column.isAction ? column.cell(row) : orDash(column.cell(row))}</div>
              </td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  </div>
);

/** A list of names and values. Empty values are omitted. */
import type { ComponentChildren, JSX } from "preact";

export const Facts = ({ rows }: { rows: readonly (readonly [name: string, value: ComponentChildren])[] }): JSX.Element => (
  <dl class="facts">
    {rows
      .filter(([, value]) => value !== null && value !== undefined && value !== false && value !== "")
      .map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
  </dl>
);

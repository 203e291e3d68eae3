/** The scopes of a key: a short list is shown, a long one is folded into a count. */
import type { JSX } from "preact";
import { plural } from "../lib/format.ts";

const FEW = 3;

export function Scopes({ of: scopes }: { of: readonly string[] }): JSX.Element {
  const list = (
    <ul class="words">
      {scopes.map((scope) => (
        <li key={scope}>
          <code>{scope}</code>
        </li>
      ))}
    </ul>
  );
  if (scopes.length <= FEW) return list;
  return (
    <details class="scopes">
      <summary>{plural(scopes.length, "scope")}</summary>
      {list}
    </details>
  );
}

/** A list of words in a cell, such as scopes: a short list is shown, a long one is folded into a count. */
import type { JSX } from "preact";
import { plural } from "../lib/format.ts";

const FEW = 3;

export function FoldedList({ of: words, one }: { of: readonly string[]; one: string }): JSX.Element {
  const list = (
    <ul class="words">
      {words.map((word) => (
        <li key={word}>
          <code>{word}</code>
        </li>
      ))}
    </ul>
  );
  if (words.length <= FEW) return list;
  return (
    <details class="in-cell">
      <summary>{plural(words.length, one)}</summary>
      {list}
    </details>
  );
}

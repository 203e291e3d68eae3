/** A list of words in a cell, such as scopes: a short list is shown, a long one is folded into a count. */
import type { JSX } from "preact";
import { plural } from "../lib/format.ts";

const FEW = 3;

type FoldedListProps = {
  of: readonly string[];
  one: string;
  /** The words are short, and break only between their parts. */
  areShort?: boolean;
};

export function FoldedList({ of: words, one, areShort = false }: FoldedListProps): JSX.Element {
  const list = (
    <ul class={areShort ? "words short" : "words"}>
      {words.map((word) => (
        <li key={word}>
          {/* A scope can break after its colon. */}
          <code>{word.split(":").flatMap((part, at) => (at === 0 ? [part] : [":", <wbr key={`:${part}`} />, part]))}</code>
        </li>
      ))}
    </ul>
  );
  if (words.length <= FEW) return list;
  return (
    <details class="in-cell">
      <summary class="whole">{plural(words.length, one)}</summary>
      {list}
    </details>
  );
}

/** An id. Tables show its begin and its end; the title and a copied selection have all of it. */
import type { JSX } from "preact";

const FORM = /^([a-z]+_[0-9a-z]{4})([0-9a-z]{18})([0-9a-z]{4})$/;

export function Id({ of: id }: { of: string }): JSX.Element {
  const [, begin, middle, end] = FORM.exec(id) ?? [];
  if (middle === undefined) return <code>{id}</code>;
  return (
    <code class="id" title={id}>
      {begin}
      <span class="id-middle">{middle}</span>
      {end}
    </code>
  );
}

/** The path of a request, which can break after a slash. */
export const Path = ({ of: path }: { of: string }): JSX.Element => (
  <>
    {path
      .split("/")
      .flatMap((part, at) => (at === 0 ? [part] : ["/", <wbr key={`/${part}`} />, FORM.test(part) ? <Id key={part} of={part} /> : part]))}
  </>
);

/** The template tag for SQL: turns values into parameters and gives each statement a name, so that the server parses and plans it once
 *  per connection. */

export type Sql = { readonly name: string; readonly text: string; readonly values: readonly unknown[] };

export type Prepared = { name: string; text: string };

let statements = 0;
const prepared = new WeakMap<TemplateStringsArray, Prepared>();

export function sql(parts: TemplateStringsArray, ...values: readonly unknown[]): Sql {
  let statement = prepared.get(parts);
  if (statement === undefined) {
    statement = prepare(parts.reduce((text, part, index) => `${text}$${index}${part}`));
    prepared.set(parts, statement);
  }
  return { ...statement, values };
}

/** Prepares a statement whose text is built once. */
export function prepare(text: string): Prepared {
  statements += 1;
  return { name: `godwit_${statements}`, text };
}

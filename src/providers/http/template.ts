/** Templates of requests: texts with variables such as `{{recipient}}`. A value never becomes a part of the structure: the encoder of
 *  JSON, forms or URLs writes each finished text. */

/** A text with the values of constants in their places. Each other variable stays a variable. */
export type TextTemplate<Name extends string = string> = readonly (string | { variable: Name })[];

export type Constants = ReadonlyMap<string, string>;
type Value = string | number | null;
export type ValueOf<Name extends string> = (name: Name) => Value;

const VARIABLE = /\{\{\s*([\w.-]+)\s*\}\}/g;

/** `encode` writes a constant for the place of the template. */
export type TemplateNames<Name extends string> = { names: readonly Name[]; constants: Constants; encode?: (constant: string) => string };

/** Returns the template, or the name of a variable that does not exist. */
export function compileTemplate<Name extends string>(
  text: string,
  { names, constants, encode = String }: TemplateNames<Name>,
): { template: TextTemplate<Name> } | { unknown: string } {
  const parts: (string | { variable: Name })[] = [];
  let end = 0;
  for (const { 0: whole, 1: name = "", index } of text.matchAll(VARIABLE)) {
    const variable = names.find((each) => each === name);
    const constant = constants.get(name);
    if (variable === undefined && constant === undefined) return { unknown: name };
    parts.push(text.slice(end, index), variable === undefined ? encode(constant ?? "") : { variable });
    end = index + whole.length;
  }
  return { template: join([...parts, text.slice(end)]) };
}

function join<Name extends string>(parts: TextTemplate<Name>): TextTemplate<Name> {
  const joined: (string | { variable: Name })[] = [];
  for (const part of parts) {
    const last = joined.at(-1);
    if (typeof part === "string" && typeof last === "string") joined[joined.length - 1] = last + part;
    else if (part !== "") joined.push(part);
  }
  return joined;
}

/** A template that is a single variable has its value, which may be a number. Without a value it is undefined: the field is left out. */
export function fillValue<Name extends string>(template: TextTemplate<Name>, valueOf: ValueOf<Name>): string | number | undefined {
  const [first, ...others] = template;
  if (first === undefined) return undefined;
  if (others.length === 0) return typeof first === "string" ? first : (valueOf(first.variable) ?? undefined);
  return fillText(template, valueOf, String);
}

/** The text, with each value encoded. */
export const fillText = <Name extends string>(
  template: TextTemplate<Name>,
  valueOf: ValueOf<Name>,
  encode: (value: string | number) => string,
): string => template.map((part) => (typeof part === "string" ? part : encode(valueOf(part.variable) ?? ""))).join("");

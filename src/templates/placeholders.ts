/** Placeholders in a text: `{{1}}`, `{{2}}` … by position, or `{{code}}` by name. Finds, checks and fills them. */
import type { Fault } from "../http/problem.ts";

export const MAX_VARIABLES = 100;

const POSITION = /^(?:[1-9]\d?|100)$/;
const NAME = /^[a-z][a-z0-9_]{0,39}$/;
/** A whole placeholder with any name, or two braces that belong to none. */
const BRACES = /\{\{([^{}]*)\}\}|\{\{|\}\}/g;

// The first faults are enough for a text that is wrong throughout.
const MAX_FAULTS = 10;

const isPosition = (variable: string): boolean => POSITION.test(variable);
const isVariable = (variable: string): boolean => POSITION.test(variable) || NAME.test(variable);

/** The variables of a text, in the order in which they first appear. */
const variablesIn = (text: string): string[] => [
  ...new Set(Array.from(text.matchAll(BRACES), ([, inside]) => inside ?? "").filter((inside) => isVariable(inside))),
];

export type Texts = { header: string | null; body: string };

/** The variables of a template, each once: those of the header, then those of the body, in the order in which they first appear. A
 *  variable of the header and the body is one variable. */
export const variablesOf = ({ header, body }: Texts): string[] => [...new Set([...variablesIn(header ?? ""), ...variablesIn(body)])];

/** The variables by part, in the order that a carrier expects: numbers by their value, names in the order in which they first appear. A
 *  variable of the header and the body is in both lists. */
export const variablesByPart = ({ header, body }: Texts): Record<"header" | "body", string[]> => ({
  header: inOrder(variablesIn(header ?? "")),
  body: inOrder(variablesIn(body)),
});

const inOrder = (variables: readonly string[]): string[] =>
  variables.every(isPosition) ? variables.toSorted((a, b) => Number(a) - Number(b)) : [...variables];

/** Returns the faults of the braces in a text. Positions are counted in characters, from 1; the text itself is not repeated. */
export function placeholderFaults(text: string, pointer: string): Fault[] {
  const faults: Fault[] = [];
  for (const match of text.matchAll(BRACES)) {
    if (faults.length === MAX_FAULTS) break;
    const what = braceFault(match[0], match[1]);
    if (what === undefined) continue;
    const at = Array.from(text.slice(0, match.index)).length + 1;
    faults.push({ pointer, code: "invalid_placeholder", detail: `at character ${at}: ${what}` });
  }
  return faults;
}

function braceFault(whole: string, inside: string | undefined): string | undefined {
  if (inside === undefined) return whole === "{{" ? "{{ is not closed by }}" : "}} closes nothing";
  if (isVariable(inside)) return undefined;
  if (inside === "") return "the placeholder is empty";
  if (isVariable(inside.trim())) return "a placeholder has no blanks inside";
  return `a placeholder is {{1}} to {{${MAX_VARIABLES}}}, or {{name}} of a small letter, then small letters, digits and underscores, 40 in all`;
}

/** Whether a text has braces that could be read as a placeholder. */
export const hasBraces = (text: string): boolean => text.includes("{{") || text.includes("}}");

/** Returns the faults of the variables as a whole. They point at the body, which every template has. */
export function variableFaults(texts: Texts): Fault[] {
  const fault = (code: string, detail: string): Fault[] => [{ pointer: "/body", code, detail }];
  const variables = variablesOf(texts);
  const positions = variables.filter((variable) => isPosition(variable)).map(Number);
  if (variables.length > MAX_VARIABLES) return fault("too_many", `must have at most ${MAX_VARIABLES} variables`);
  if (positions.length > 0 && positions.length < variables.length)
    return fault("mixed_placeholders", "has variables by position and by name: use one kind");
  const missing = positions.findIndex((_, index) => !positions.includes(index + 1));
  return missing === -1 ? [] : fault("placeholder_gap", `numbers must run from {{1}} without gaps: {{${missing + 1}}} is missing`);
}

/** Fills in the values in one pass, so that a value that looks like a placeholder stays text. */
export const fill = (text: string, variables: Readonly<Record<string, string>>): string =>
  text.replace(BRACES, (whole: string, inside: string | undefined) =>
    inside !== undefined && Object.hasOwn(variables, inside) ? (variables[inside] ?? whole) : whole,
  );

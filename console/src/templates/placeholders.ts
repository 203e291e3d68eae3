/** Finds placeholders in a text: `{{1}}` by position or `{{code}}` by name. The service validates them again. */

const VARIABLE = /^(?:[1-9]\d?|100|[a-z][a-z0-9_]{0,39})$/;
/** Matches a placeholder with any content, or two braces that do not belong to one. */
const BRACES = /\{\{([^{}]*)\}\}|\{\{|\}\}/g;

const isVariable = (name: string | undefined): name is string => name !== undefined && VARIABLE.test(name);

/** Returns the variables of header and body, each once, in the order of the API. */
export const findVariables = (header: string, body: string): string[] => [
  ...new Set(
    [header, body].flatMap((text) => Array.from(text.matchAll(BRACES), ([, inside]) => inside).filter((inside) => isVariable(inside))),
  ),
];

/** Returns the first braces of a text that are not a valid placeholder. */
export const oddBraces = (text: string): string | undefined =>
  Array.from(text.matchAll(BRACES)).find(([, inside]) => !isVariable(inside))?.[0];

export const toPlaceholder = (name: string): string => `{{${name}}}`;

/** Fills in the placeholders for a preview. A placeholder without a value stays visible. */
export const fillPlaceholders = (text: string, values: Readonly<Record<string, string>>): string =>
  text.replaceAll(BRACES, (whole: string, inside: string | undefined) => (isVariable(inside) && values[inside]?.trim()) || whole);

/** The name of a further variable that the text does not have yet. */
export function nextVariable(known: readonly string[]): string {
  for (let number = 1; ; number += 1) {
    const name = number === 1 ? "variable" : `variable_${number}`;
    if (!known.includes(name)) return name;
  }
}

/** Turns a title into the form of a template name: "Order Shipped" → order_shipped. Other faults are left for the service to report. */
export const toTemplateName = (text: string): string => text.toLowerCase().replaceAll(/[\s-]/g, "_");

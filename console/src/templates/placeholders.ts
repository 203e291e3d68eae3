/** Placeholders in a text while it is typed: `{{1}}` by position or `{{code}}` by name. The service has the last word on them. */

const VARIABLE = /^(?:[1-9]\d?|100|[a-z][a-z0-9_]{0,39})$/;
/** A whole placeholder, whatever it says; or two braces that belong to none. */
const BRACES = /\{\{([^{}]*)\}\}|\{\{|\}\}/g;

const isVariable = (name: string | undefined): name is string => name !== undefined && VARIABLE.test(name);

/** The variables of header and body, each once, in the order in which the API lists them. */
export const findVariables = (header: string, body: string): string[] => [
  ...new Set(
    [header, body].flatMap((text) => Array.from(text.matchAll(BRACES), ([, inside]) => inside).filter((inside) => isVariable(inside))),
  ),
];

/** The first braces of a text that are no placeholder. */
export const oddBraces = (text: string): string | undefined =>
  Array.from(text.matchAll(BRACES)).find(([, inside]) => !isVariable(inside))?.[0];

export const toPlaceholder = (name: string): string => `{{${name}}}`;

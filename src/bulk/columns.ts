/** The columns of a file of recipients, and the field of a message that each of them fills. */

/** The field that a column fills: a field of a message, `var.NAME`, `metadata.NAME`, or `ignore`. */
export type ColumnTarget = string;

export const IGNORED = "ignore";
const FIELDS = ["recipient", "body", "client_reference", "sender", "send_at"] as const;
type FieldName = (typeof FIELDS)[number];

/** The headings that name a field without a mapping, the usual ones first. */
const HEADINGS: Readonly<Record<FieldName, readonly string[]>> = {
  recipient: ["recipient", "to", "phone", "phone_number", "mobile", "number"],
  body: ["body", "text", "message"],
  client_reference: ["client_reference", "reference"],
  sender: ["sender", "from"],
  send_at: ["send_at"],
};

const VARIABLE = /^var\.(?:[1-9]\d?|100|[a-z][a-z0-9_]{0,39})$/;
const METADATA = /^metadata\..{1,40}$/;
const isTarget = (text: string): boolean =>
  text === IGNORED || (FIELDS as readonly string[]).includes(text) || VARIABLE.test(text) || METADATA.test(text);

export const TARGETS_HINT = `${FIELDS.join(", ")}, var.NAME, metadata.NAME or ${IGNORED}`;

export type MappingRequest = {
  /** The cells of the first record. */
  headings: readonly string[];
  /** The targets that a person has chosen, by heading. */
  chosen: ReadonlyMap<string, ColumnTarget>;
  /** The content that all rows share: a text, a template with these variables, a template with unknown ones, or none. */
  content: "text" | "none" | "template" | { variables: readonly string[] };
  /** The variables that have the same value in all rows. */
  constants: readonly string[];
};

export type Mapping = { targets: readonly ColumnTarget[]; faults: readonly string[] };

/** Chooses the target of each column: the chosen one, or the one that its heading names. */
export function mapColumns(request: MappingRequest): Mapping {
  const { headings, chosen } = request;
  const names = headings.map(normalize);
  const targets = headings.map((heading) => chosen.get(heading));
  const isFree = (target: ColumnTarget): boolean => !targets.includes(target);
  const assign = (name: string, target: ColumnTarget): void => {
    const at = names.findIndex((each, index) => each === name && targets[index] === undefined);
    if (at !== -1 && isFree(target)) targets[at] = target;
  };
  for (const name of HEADINGS.recipient) assign(name, "recipient");
  for (const name of variablesOf(request, names)) assign(name, `var.${name}`);
  for (const field of FIELDS) if (field !== "body" || request.content === "none") for (const name of HEADINGS[field]) assign(name, field);
  const complete = targets.map((target) => target ?? IGNORED);
  return { targets: complete, faults: mappingFaults(request, complete) };
}

const normalize = (heading: string): string =>
  heading
    .trim()
    .toLowerCase()
    .replaceAll(/[\s-]+/g, "_");

/** The variables that columns may fill by their headings. If those of the template are unknown, every other heading is one. */
function variablesOf({ content, constants }: MappingRequest, names: readonly string[]): readonly string[] {
  if (content === "text" || content === "none") return [];
  if (content !== "template") return content.variables.filter((name) => !constants.includes(name));
  const fields = new Set(Object.values(HEADINGS).flat());
  return names.filter((name) => VARIABLE.test(`var.${name}`) && !fields.has(name) && !constants.includes(name));
}

function mappingFaults({ headings, chosen, content, constants }: MappingRequest, targets: readonly ColumnTarget[]): string[] {
  const unknown = [...chosen.keys()].filter((heading) => !headings.includes(heading)).map((heading) => `there is no column "${heading}"`);
  const malformed = [...chosen].filter(([, target]) => !isTarget(target)).map(([heading]) => `"${heading}" must fill ${TARGETS_HINT}`);
  const twice = [...new Set(targets.filter((target, at) => target !== IGNORED && targets.indexOf(target) !== at))];
  const repeated = [...new Set(headings.filter((heading, at) => heading.trim() !== "" && headings.indexOf(heading) !== at))];
  const isMapped = (target: ColumnTarget): boolean => targets.includes(target);
  const variables = typeof content === "object" ? content.variables : [];
  return [
    ...unknown,
    ...malformed,
    ...repeated.map((heading) => `two columns have the heading "${heading}"`),
    ...twice.map((target) => `two columns fill ${target}`),
    ...(isMapped("recipient") ? [] : ["no column has the recipient"]),
    ...(content !== "none" || isMapped("body") ? [] : ["there is neither a text, a template nor a column with the text"]),
    ...(content !== "none" && isMapped("body") ? ["a column has the text, and so do the settings of all rows"] : []),
    ...(typeof content === "string" && content !== "template" && targets.some((target) => target.startsWith("var."))
      ? ["a column fills a variable, and there is no template"]
      : []),
    ...variables
      .filter((name) => !isMapped(`var.${name}`) && !constants.includes(name))
      .map((name) => `no column fills the variable ${name} of the template`),
  ];
}

/** Values as source text of a shell, of TypeScript and of Python, for the code samples of the API reference. */

const MAX_LINE = 80;

/** A word of a POSIX shell, in single quotes. */
export const shellQuote = (text: string): string => `'${text.replaceAll("'", `'\\''`)}'`;

type Style = {
  indent: string;
  atom: (value: string | number | boolean | null) => string;
  member: (name: string, value: string) => string;
  /** The space inside the braces of an object on one line. */
  padding: string;
};

const TYPESCRIPT: Style = {
  indent: "  ",
  atom: (value) => JSON.stringify(value),
  member: (name, value) => `${/^[A-Za-z_]\w*$/.test(name) ? name : JSON.stringify(name)}: ${value}`,
  padding: " ",
};

const PYTHON: Style = {
  indent: "    ",
  atom: (value) => (value === null ? "None" : typeof value === "boolean" ? (value ? "True" : "False") : JSON.stringify(value)),
  member: (name, value) => `${JSON.stringify(name)}: ${value}`,
  padding: "",
};

/** Writes a value on one line where it fits, otherwise each member on its own line. */
function write(value: unknown, style: Style, depth: number): string {
  if (typeof value !== "object" || value === null) return style.atom(value as string | number | boolean | null);
  const isList = Array.isArray(value);
  const [open, close] = isList ? ["[", "]"] : ["{", "}"];
  const parts = (at: number): string[] =>
    isList
      ? value.map((item: unknown) => write(item, style, at))
      : Object.entries(value).map(([name, item]) => style.member(name, write(item, style, at)));
  const padding = isList ? "" : style.padding;
  const oneLine = `${open}${padding}${parts(depth).join(", ")}${padding}${close}`;
  if (!oneLine.includes("\n") && oneLine.length + depth * style.indent.length <= MAX_LINE) return oneLine;
  const inner = style.indent.repeat(depth + 1);
  const lines = parts(depth + 1).map((part) => `${inner}${part},\n`);
  return `${open}\n${lines.join("")}${style.indent.repeat(depth)}${close}`;
}

export const typescriptLiteral = (value: unknown, depth = 0): string => write(value, TYPESCRIPT, depth);
export const pythonLiteral = (value: unknown, depth: number): string => write(value, PYTHON, depth);

/** The values of path parameters as positional arguments, the same in both languages. */
export const pathArguments = (parameters: readonly { in: string; example?: unknown }[]): string[] =>
  parameters.filter((each) => each.in === "path").map(({ example }) => JSON.stringify(example));

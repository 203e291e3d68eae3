/** Finds the first fault of a JSON text, in its syntax or a repeated name, for error messages. `JSON.parse` names the position of some faults
 *  only, and repeats the text. The work is one pass over the text. */

/** Lines and columns count from one; columns count UTF-16 units. `isAtEnd`: more text might correct it. */
export type SyntaxFault = { line: number; column: number; detail: string; isAtEnd: boolean };

type State = "value" | "value or end" | "name or end" | "name" | "colon" | "comma or end" | "end of text";

const SPACE = /[ \t\n\r]*/y;
const TOKEN =
  /"(?:[ !#-[\]-\uffff]|\\(?:["\\/bfnrt]|u[\dA-Fa-f]{4}))*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?|true|false|null|[[\]{}:,]/y;

const EXPECTED: Readonly<Record<State, string>> = {
  value: "expected a value",
  "value or end": "expected a value or ]",
  "name or end": "expected a name in double quotes or }",
  name: "expected a name in double quotes",
  colon: "expected a colon",
  "comma or end": "expected a comma or the closing bracket",
  "end of text": "expected the end of the text",
};

/** Undefined for valid JSON in which no object has a name twice. */
export function findSyntaxFault(text: string): SyntaxFault | undefined {
  const open: ("[" | "{")[] = [];
  const names: Set<string>[] = [];
  let state: State = "value";
  let at = 0;
  for (;;) {
    at = endOf(SPACE, text, at);
    if (at === text.length) return state === "end of text" ? undefined : faultAt(text, at, `the text ends here, ${EXPECTED[state]}`, true);
    const end = endOf(TOKEN, text, at);
    const next: State | undefined = end === at ? undefined : follow(state, text.charAt(at), open);
    if (next === undefined) return faultAt(text, at, explain(text.charAt(at), state), text.charAt(at) === '"' && end === at);
    if (next === "name or end") names.push(new Set());
    if (text.charAt(at) === "}") names.pop();
    if (next === "colon") {
      const name = JSON.parse(text.slice(at, end)) as string;
      if (names.at(-1)?.has(name) === true) return faultAt(text, at, "the object has this name already", false);
      names.at(-1)?.add(name);
    }
    state = next;
    at = end;
  }
}

/** The state after a token, which its first character tells. Undefined: the token may not stand there. */
function follow(state: State, token: string, open: ("[" | "{")[]): State | undefined {
  const after = (): State => (open.length === 0 ? "end of text" : "comma or end");
  switch (token) {
    case "[":
    case "{":
      if (state !== "value" && state !== "value or end") return undefined;
      open.push(token);
      return token === "[" ? "value or end" : "name or end";
    case "]":
    case "}": {
      const isEmpty = state === (token === "]" ? "value or end" : "name or end");
      const isLast = state === "comma or end" && open.at(-1) === (token === "]" ? "[" : "{");
      if (!isEmpty && !isLast) return undefined;
      open.pop();
      return after();
    }
    case ",":
      return state === "comma or end" ? (open.at(-1) === "{" ? "name" : "value") : undefined;
    case ":":
      return state === "colon" ? "value" : undefined;
    default:
      if (token === '"' && (state === "name" || state === "name or end")) return "colon";
      return state === "value" || state === "value or end" ? after() : undefined;
  }
}

function explain(character: string, state: State): string {
  if (character === '"' && state !== "colon" && state !== "comma or end" && state !== "end of text")
    return "this string has no end, or a control character or an unknown escape";
  if (character === "'") return `${EXPECTED[state]}; strings need double quotes`;
  if ((character === "}" || character === "]") && (state === "name" || state === "value"))
    return `${EXPECTED[state]}; remove the comma before the bracket`;
  return EXPECTED[state];
}

function endOf(pattern: RegExp, text: string, from: number): number {
  pattern.lastIndex = from;
  return pattern.test(text) ? pattern.lastIndex : from;
}

function faultAt(text: string, at: number, detail: string, isAtEnd: boolean): SyntaxFault {
  const lines = text.slice(0, at).split("\n");
  return { line: lines.length, column: (lines.at(-1) as string).length + 1, detail, isAtEnd };
}

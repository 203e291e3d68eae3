/** Compiles the paths and templates of a definition, and reports their faults, one sentence for each. */
import type { Condition } from "./definition.ts";
import { compilePath, findAll, textAt, type Document, type JsonPath } from "./json-path.ts";
import { compileTemplate, type Constants, type TextTemplate } from "./template.ts";

/** Whether a document fulfills a condition. */
export type Test = (document: Document) => boolean;

/** The members of a list, with their places in the definition, which may have one member in place of a list. */
export function membersOf<T extends string | object>(value: T | readonly T[] | undefined, at: string): { member: T; at: string }[] {
  if (value === undefined) return [];
  return Array.isArray(value) ? value.map((member: T, index) => ({ member, at: `${at}.${index}` })) : [{ member: value as T, at }];
}

export class DefinitionReader {
  readonly #constants: Constants;
  readonly #report: (fault: string) => void;

  /** `constants` are the values, the secrets and our callback URL. */
  constructor(constants: Constants, report: (fault: string) => void) {
    this.#constants = constants;
    this.#report = report;
  }

  fault(at: string, detail: string): void {
    this.#report(`${at}: ${detail}`);
  }

  path(text: string, at: string): JsonPath {
    const path = compilePath(text);
    if (path !== undefined) return path;
    this.fault(at, `"${text}" is not a path such as $.messages[0].id, $['message-id'] or ?parameter`);
    return { kind: "body", steps: [] };
  }

  optionalPath(text: string | undefined, at: string): JsonPath | undefined {
    return text === undefined ? undefined : this.path(text, at);
  }

  paths(texts: string | readonly string[] | undefined, at: string): readonly JsonPath[] {
    return membersOf(texts, at).map(({ member, at: location }) => this.path(member, location));
  }

  condition(condition: Condition | undefined, at: string): Test {
    if (condition === undefined) return () => true;
    const { equals, not_equals: others = [] } = condition;
    const path = this.path(condition.path, `${at}.path`);
    if (equals === undefined) return (document) => findAll(path, document).length > 0 && !others.includes(textAt(path, document) ?? "");
    return (document) => equals.includes(textAt(path, document) ?? "");
  }

  template<Name extends string>(
    text: string,
    at: string,
    names: readonly Name[],
    encode?: (constant: string) => string,
  ): TextTemplate<Name> {
    const compiled = compileTemplate(text, { names, constants: this.#constants, ...(encode ? { encode } : {}) });
    if ("template" in compiled) return compiled.template;
    const { unknown } = compiled;
    const [, kind, name] = /^(secret|value)\.([a-z0-9_]+)$/.exec(unknown) ?? [];
    if (unknown === "callback_url") this.fault(at, "{{callback_url}} needs public_url");
    else if (kind === "secret") this.fault(at, `the secret ${name} is not set: write ${name}_env under [link.secrets]`);
    else if (kind === "value") this.fault(at, `the value ${name} is not set: write ${name} under [link.values]`);
    else this.fault(at, `{{${unknown}}} is not a variable here; known are ${[...names, "value.NAME", "secret.NAME"].join(", ")}`);
    return [];
  }

  /** A text that does not depend on a message. */
  constant(text: string, at: string): string {
    return this.template<never>(text, at, []).map(String).join("");
  }
}

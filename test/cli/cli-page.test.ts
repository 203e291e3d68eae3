/** The pages of the commands and the help match the commands. */
import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { before, describe, test } from "node:test";
import { readPages } from "../../scripts/cli-page.ts";
import { formWords, ownFlags, parseInput, shownSettings, type Command } from "../../src/cli/command.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { exitCodes, helpText } from "../../src/cli/help.ts";
import { SETTINGS } from "../../src/settings.ts";

const root = join(import.meta.dirname, "..", "..");
const page = (name: string): string => readFileSync(join(root, name), "utf8");

let commands: [name: string, command: Command][];
before(async () => {
  commands = await Promise.all(Object.entries(COMMANDS).map(async ([name, { load }]) => [name, await load()] as [string, Command]));
});

test("docs/cli.md and the pages of the commands are the output of npm run cli-page", async () => {
  for (const { path, is, shouldBe } of await readPages()) {
    assert.equal(is, shouldBe, path);
    assert.doesNotMatch(is, /\]\([^)]*\)#/, `${path} has a link whose anchor is outside it`);
  }
});

test("the README and the page on operation link to docs/cli.md, and docs/settings.md has every setting", () => {
  assert.ok(page("README.md").includes("docs/cli.md"));
  assert.ok(page("docs/operation.md").includes("cli.md"));
  for (const { env } of Object.values(SETTINGS)) assert.ok(page("docs/settings.md").includes(`\`${env}\``), env);
});

test("every command has its name, a summary and examples", () => {
  for (const [name, command] of commands) {
    assert.equal(command.name, name);
    assert.ok(command.about.length > 0 && command.examples.length > 0, name);
    for (const form of command.usage) assert.ok(form === name || form.startsWith(`${name} `), form);
  }
});

test("the forms of a command name only its flags, and all of them unless they contain [flags]", () => {
  for (const [name, command] of commands) {
    const text = command.usage.join("\n");
    const named = Array.from(text.matchAll(/--([a-z-]+)/g), ([, flag]) => flag ?? "");
    for (const flag of named) assert.ok(flag in ownFlags(command), `${name} --${flag}`);
    if (!text.includes("[flags]")) for (const flag of Object.keys(command.flags)) assert.ok(named.includes(flag), `${name} --${flag}`);
  }
});

test("no flag of a command has the name of one of its settings", () => {
  for (const [name, command] of commands) {
    const settings = new Set(shownSettings(command).map(({ flag }) => flag));
    for (const flag of Object.keys(ownFlags(command))) assert.ok(!settings.has(flag), `${name} --${flag}`);
  }
});

/** The words of a line as a shell splits them, without the programs of a pipe that are not ours. */
function argvOf(line: string): string[] {
  const godwit = line.split("|").find((part) => /(?:^|[\s(])godwit /.test(part)) ?? "";
  const [, args = ""] = /(?:^|[\s(])godwit (.*)$/s.exec(godwit.replace(/>.*$/, "").replace(/\)$/, "")) ?? [];
  return Array.from(args.matchAll(/"([^"]*)"|'([^']*)'|(\S+)/g), ([, double, single, bare]) => double ?? single ?? bare ?? "");
}

test("every example is valid for its command", () => {
  for (const [name, command] of commands) {
    for (const [, line] of command.examples) {
      const [called, ...rest] = argvOf(line);
      assert.equal(called, name, line);
      assert.doesNotThrow(() => parseInput(command, rest), line);
    }
  }
});

test("the pages and the texts of the program name only commands and verbs that exist", () => {
  const verbs = new Map(commands.map(([name, { usage }]) => [name, usage.flatMap((form) => formWords(form)[0]?.split("|") ?? [""])]));
  const isVerb = (name: string, word: string): boolean => (verbs.get(name) ?? []).some((each) => each === word || /^$|[A-Z]/.test(each));
  const faults = globSync(["{README,SECURITY}.md", "docs/*.md", "src/**/*.ts"], { cwd: root }).flatMap((path) => {
    // A code span and a line of a shell begin with the program. Other texts may also contain the name of the product.
    const isPage = path.endsWith(".md");
    const pattern = isPage ? /(?:^(?:npx )?|`)godwit ([a-z-]+)(?: ([a-z][a-z-]*))?/gm : /\bgodwit ([a-z-]+)(?: ([a-z][a-z-]*))?/g;
    return Array.from(
      page(path)
        .replaceAll(/\/\*\*.*?\*\//gs, "")
        .matchAll(pattern),
    ).flatMap(([text, name = "", word]) => {
      if (!verbs.has(name)) return isPage && text.includes("`") ? [`${path}: ${text}: there is no command ${name}`] : [];
      return word === undefined || isVerb(name, word) ? [] : [`${path}: ${text}: ${name} has no verb ${word}`];
    });
  });
  assert.deepEqual(faults, []);
});

test("the help of a command has its forms, its flags, its examples and its exit codes", () => {
  for (const [name, command] of commands) {
    const text = helpText(command, COMMANDS[name] ?? { summary: "" });
    for (const form of command.usage) assert.ok(text.includes(`  godwit ${form}\n`), form);
    const settings = shownSettings(command).map(({ flag }) => flag);
    for (const flag of [...Object.keys(ownFlags(command)), ...settings])
      assert.match(text, new RegExp(`^  --${flag}( |$)`, "m"), `${name} --${flag}`);
    for (const [, line] of command.examples) assert.ok(text.includes(line), line);
    for (const code of Object.keys(exitCodes(command))) assert.match(text, new RegExp(`^  ${code}  \\w`, "m"));
    for (const line of text.split("\n")) assert.ok(line.length <= 140, line);
  }
});

describe("the words of a form", () => {
  const FORMS: readonly (readonly [form: string, words: readonly string[]])[] = [
    ["links [--json]", []],
    ["help [COMMAND]", ["COMMAND"]],
    ["send --to NUMBER --body TEXT [flags]", []],
    ["keys create --environment test|live --scopes a,b [--account NAME|ID]", ["create"]],
    ["environments set-tier test|live TIER [--account NAME|ID] [--json]", ["set-tier", "test|live", "TIER"]],
  ];
  for (const [form, words] of FORMS) test(`of ${form} are ${words.join(", ") || "none"}`, () => assert.deepEqual(formWords(form), words));
});

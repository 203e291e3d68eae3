/** The completion scripts, each run by its shell. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { SCOPE_PRESETS, SCOPES } from "../../src/access/scope.ts";
import { COMMANDS } from "../../src/cli/commands.ts";
import { runGodwit } from "../support/harness.ts";

let folder: string;
before(() => (folder = mkdtempSync(join(tmpdir(), "godwit-completion-"))));
after(() => rmSync(folder, { recursive: true, force: true }));

type Shell = { name: string; program: readonly string[]; ask: (script: string, line: string) => string };

/** The words of a line, quoted for the shell. The last one may be incomplete. */
const wordsOf = (line: string): string =>
  line
    .split(" ")
    .map((word) => `'${word}'`)
    .join(" ");

const SHELLS: readonly Shell[] = [
  {
    name: "bash",
    program: ["bash", "--norc", "-c"],
    // Calls the completion like bash does on a key press. Bash splits words at colons, so the word is joined again.
    ask: (script, line) => `source ${script}
      COMP_LINE='${line}' COMP_POINT=${line.length} COMPREPLY=()
      _godwit
      current='${line.split(" ").at(-1)}'; head="\${current%"\${current##*:}"}"
      for reply in "\${COMPREPLY[@]}"; do echo "$head$reply"; done`,
  },
  {
    name: "zsh",
    program: ["zsh", "-f", "-c"],
    // Prints the arguments of the completion functions, which work only in the line editor of zsh.
    ask: (script, line) => `
      words=(${wordsOf(line)}); CURRENT=$#words; PREFIX=$words[CURRENT]; before=''
      compdef() { : }
      compset() { [[ $PREFIX == *,* ]] && before="\${PREFIX%,*}," }
      compadd() { for each in "\${(@P)2}"; do reply "$before$each"; done }
      _describe() { for each in "\${(@P)@[-1]}"; do each="\${each//\\\\:/ }"; each="\${each%%:*}"; reply "\${each// /:}"; done }
      _files() { echo files }
      reply() { [[ $1 == "$PREFIX"* ]] && echo $1 }
      source ${script}
      _godwit`,
  },
  {
    name: "fish",
    program: ["fish", "--no-config", "-c"],
    ask: (script, line) => `source ${script}; complete -C '${line}' | string replace -r '\\t.*' ''`,
  },
];

const CASES: readonly (readonly [line: string, offers: readonly string[]])[] = [
  ["godwit ", Object.keys(COMMANDS)],
  ["godwit en", ["environments"]],
  ["godwit keys ", ["create", "list", "rotate", "revoke"]],
  ["godwit keys re", ["revoke"]],
  ["godwit environments set-tier ", ["test", "live"]],
  ["godwit completion ", ["bash", "zsh", "fish"]],
  ["godwit help do", ["doctor"]],
  ["godwit keys create --env", ["--environment"]],
  ["godwit keys create --environment ", ["test", "live"]],
  ["godwit keys create --environment test --sc", ["--scopes"]],
  ["godwit keys create --scopes events:", ["events:read"]],
  ["godwit keys create --scopes events:read,usage:", ["events:read,usage:read"]],
  ["godwit send --channel w", ["whatsapp"]],
  ["godwit send --idem", ["--idempotency-key"]],
  ["godwit send --body hello --pri", ["--priority"]],
  ["godwit serve --log ", ["json", "pretty", "silent"]],
  ["godwit serve --roles api,w", ["api,webhooks"]],
  ["godwit listen --type message.del", ["message.delivered"]],
  ["godwit messages ", ["list", "get", "cancel", "events"]],
  ["godwit messages list --status un", ["undelivered"]],
  ["godwit webhooks create https://example.com --types message.*,batch.c", ["message.*,batch.completed"]],
  ["godwit trigger message.un", ["message.undelivered"]],
  ["godwit profiles ", ["list", "use", "remove"]],
  // A flag of another command.
  ["godwit send --scop", []],
];

for (const { name, program, ask } of SHELLS) {
  const [command = "", ...args] = program;
  const isThere = spawnSync(command, ["--version"]).status === 0;
  describe(name, { skip: isThere ? false : `${name} is not installed` }, () => {
    const script = (): string => join(folder, `godwit.${name}`);
    const offered = (line: string): string[] => {
      const { stdout, stderr, status } = spawnSync(command, [...args, ask(script(), line)], { encoding: "utf8" });
      assert.equal(stderr, "", line);
      assert.ok(status !== null && status < 2, stderr);
      return stdout.split("\n").filter((word) => word !== "");
    };
    before(async () => {
      const { code, stdout, stderr } = await runGodwit(["completion", name], {});
      assert.equal(code, 0, stderr);
      writeFileSync(script(), stdout);
    });

    for (const [line, offers] of CASES)
      test(`${JSON.stringify(line)} offers ${offers.length > 4 ? "all values" : offers.join(", ") || "nothing"}`, () =>
        assert.deepEqual(offered(line).toSorted(), offers.toSorted()));

    test("all scopes are offered", () =>
      assert.deepEqual(offered("godwit keys create --scopes ").toSorted(), [...Object.keys(SCOPE_PRESETS), ...SCOPES].toSorted()));
  });
}

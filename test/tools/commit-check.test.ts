/** .ci/check-commits, the rules for commit messages, on a repository of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { test } from "node:test";

const SCRIPT = join(import.meta.dirname, "..", "..", ".ci", "check-commits");
const hasGit = spawnSync("git", ["--version"]).error === undefined;

/** No setting of the machine or of a surrounding git command. */
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"))),
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "tester",
  GIT_AUTHOR_EMAIL: "tester@example.com",
  GIT_COMMITTER_NAME: "tester",
  GIT_COMMITTER_EMAIL: "tester@example.com",
};

test("each rule reports its commits, and the others pass", { skip: hasGit ? false : "git is not installed" }, () => {
  const repository = mkdtempSync(join(tmpdir(), "godwit-commits-"));
  const run = (program: string, ...args: string[]) => spawnSync(program, args, { cwd: repository, env, encoding: "utf8", timeout: 30_000 });
  const commit = (path: string, message: string): void => {
    mkdirSync(dirname(join(repository, path)), { recursive: true });
    writeFileSync(join(repository, path), message);
    run("git", "add", path);
    assert.equal(run("git", "commit", "--quiet", "--message", message).status, 0);
  };
  try {
    run("git", "init", "--quiet", "--initial-branch=main");
    commit("docs/a.md", "a subject before the base; with faults.");
    const base = run("git", "rev-parse", "HEAD").stdout.trim();
    for (const subject of ["É".repeat(72), "Describe the two roles: api and dispatch"]) commit("docs/a.md", subject);
    commit("src/a.ts", "Close the link\n\nA link that stays open keeps its lease.");
    assert.deepEqual(run(SCRIPT, base).stderr, "");
    for (const subject of ["A".repeat(73), "Add a page; remove another", "Add a page.", "add a page", "feat(api)!: add a page"])
      commit("docs/a.md", subject);
    commit("src/a.ts", "Close the link\n\nSigned-off-by: tester <t@example.com>");
    const { status, stderr } = run(SCRIPT, base);
    assert.equal(status, 1);
    assert.equal(stderr.match(/^[0-9a-f]{12} /gm)?.length, 6, stderr);
    for (const fault of ["73 characters", "a semicolon", "ends with a period", "lower-case letter", 'prefix "feat(api)!:"', "no body"])
      assert.ok(stderr.includes(fault), fault);
  } finally {
    rmSync(repository, { recursive: true, force: true });
  }
});

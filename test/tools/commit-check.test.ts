/** .ci/check-commits, the rules for commit messages, on repositories of its own. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";

const SCRIPT = join(import.meta.dirname, "..", "..", ".ci", "check-commits");
const hasGit = spawnSync("git", ["--version"]).error === undefined;

/** An identity of its own, and no setting of the machine or of a surrounding git command. */
const env: NodeJS.ProcessEnv = {
  ...Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("GIT_"))),
  GIT_CONFIG_GLOBAL: "/dev/null",
  GIT_CONFIG_SYSTEM: "/dev/null",
  GIT_AUTHOR_NAME: "tester",
  GIT_AUTHOR_EMAIL: "tester@example.com",
  GIT_COMMITTER_NAME: "tester",
  GIT_COMMITTER_EMAIL: "tester@example.com",
};

type Result = { status: number | null; stdout: string; stderr: string };

describe("check-commits", { skip: hasGit ? false : "git is not installed", timeout: 120_000 }, () => {
  let folder: string;
  let repository: string;
  before(() => {
    folder = mkdtempSync(join(tmpdir(), "godwit-commits-"));
    repository = join(folder, "repository");
    mkdirSync(repository);
    git("init", "--quiet", "--initial-branch=main");
    commit("docs/start.md", "Start");
  });
  after(() => rmSync(folder, { recursive: true, force: true }));

  const run = (program: string, args: readonly string[], cwd = repository): Result =>
    spawnSync(program, args, { cwd, env, encoding: "utf8", timeout: 30_000 });
  const git = (...args: string[]): string => {
    const { status, stdout, stderr } = run("git", args);
    assert.equal(status, 0, stderr);
    return stdout.trim();
  };
  const head = (): string => git("rev-parse", "HEAD");
  const check = (...args: string[]): Result => run(SCRIPT, args);

  /** Stages a new text for the file. */
  function stage(path: string): void {
    mkdirSync(join(repository, path, ".."), { recursive: true });
    writeFileSync(join(repository, path), String(Math.random()));
    git("add", path);
  }

  function commit(path: string, message: string): void {
    stage(path);
    git("commit", "--quiet", "--message", message);
  }

  /** The folder of a new clone with the newest commits only. */
  function shallowClone(depth: number): string {
    const path = join(folder, `shallow-${depth}`);
    git("clone", "--quiet", `--depth=${depth}`, `file://${repository}`, path);
    return path;
  }

  /** The report about one commit on top of what was there before. */
  function checkOne(path: string, message: string): Result {
    const base = head();
    commit(path, message);
    return check(base);
  }

  const FINE: readonly (readonly [what: string, path: string, message: string])[] = [
    ["a short subject", "docs/a.md", "Describe the queue"],
    ["a subject of 72 characters", "docs/a.md", "A".repeat(72)],
    ["a subject of 72 characters of two bytes each", "docs/a.md", "É".repeat(72)],
    ["a body where src/ changes", "src/a.ts", "Close the link\n\nA link that stays open keeps its lease."],
    ["no body where another folder has src in its name", "console/src/a.ts", "Align the cells"],
    ["a period within the subject", "docs/a.md", "Upgrade to 0.2.0 of the package"],
    ["a colon after several words", "docs/a.md", "Describe the two roles: api and dispatch"],
    ["a name in lower case within the subject", "docs/a.md", "Describe godwit listen"],
    ["a quoted name at the start of the subject", "docs/a.md", "`claim` takes a limit"],
  ];
  for (const [what, path, message] of FINE) {
    test(`${what} passes`, () => {
      const { status, stderr } = checkOne(path, message);
      assert.deepEqual([status, stderr], [0, ""]);
    });
  }

  const REFUSED: readonly (readonly [what: string, path: string, message: string, report: RegExp])[] = [
    ["a subject of 73 characters", "docs/a.md", "A".repeat(73), /: the subject has 73 characters; at most 72/],
    ["a semicolon in the subject", "docs/a.md", "Add a page; remove another", /: the subject has a semicolon/],
    ["a period at the end of the subject", "docs/a.md", "Add a page.", /: the subject ends with a period/],
    ["a lower-case letter at the start of the subject", "docs/a.md", "add a page", /: the subject starts with a lower-case letter/],
    ["a prefix", "docs/a.md", "test: add a page", /: the subject has the prefix "test:"/],
    ["a prefix with a capital letter", "docs/a.md", "Docs: add a page", /: the subject has the prefix "Docs:"/],
    ["a prefix of two words", "docs/a.md", "console, test: add a page", /: the subject has the prefix "console, test:"/],
    ["a prefix with a scope", "docs/a.md", "feat(api)!: add a page", /: the subject has the prefix "feat\(api\)!:"/],
    ["a missing body where src/ changes", "src/a.ts", "Close the link", /: the commit changes src\/ and has no body/],
    ["a body of trailers only", "src/a.ts", "Close the link\n\nSigned-off-by: tester <t@example.com>", /has no body/],
  ];
  for (const [what, path, message, report] of REFUSED) {
    test(`${what} is reported with the commit`, () => {
      const { status, stderr } = checkOne(path, message);
      assert.equal(status, 1);
      assert.match(stderr, report);
      assert.ok(stderr.startsWith(head().slice(0, 12)), stderr);
      assert.equal(stderr.trim().split("\n").length, 2, stderr);
    });
  }

  test("every fault of every commit is reported together", () => {
    const base = head();
    commit("src/a.ts", `${"B".repeat(80)};.`);
    commit("docs/a.md", "Fine");
    commit("docs/a.md", "Not fine.");
    const { status, stderr } = check(base);
    assert.equal(status, 1);
    assert.equal(stderr.match(/^[0-9a-f]{12} /gm)?.length, 5, stderr);
  });

  test("commits up to the base are exempt", () => {
    commit("docs/a.md", "An old subject; with a semicolon.");
    const { status, stderr } = checkOne("docs/a.md", "A new subject");
    assert.deepEqual([status, stderr], [0, ""]);
  });

  test("a merge commit is exempt, and the commits that it merges are not", () => {
    const base = head();
    git("switch", "--quiet", "--create", "side");
    commit("src/side.ts", "Side work without a body");
    git("switch", "--quiet", "main");
    commit("docs/a.md", "Main work");
    git("merge", "--quiet", "--no-ff", "--message", `Merge; ${"c".repeat(80)}.`, "side");
    const { status, stderr } = check(base);
    assert.equal(status, 1);
    assert.equal(stderr.match(/^[0-9a-f]{12} /gm)?.length, 1, stderr);
    assert.match(stderr, /"Side work without a body": the commit changes src\//);
  });

  test("an unknown base is an error", () => {
    const { status, stderr } = check("no-such-commit");
    assert.equal(status, 2);
    assert.match(stderr, /there is no commit no-such-commit/);
  });

  test("a history without the default base has nothing to check", () => {
    const { status, stderr } = check();
    assert.equal(status, 0);
    assert.match(stderr, /nothing to check/);
  });

  test("a shallow clone is reported, and its commits are checked", () => {
    const base = head();
    commit("src/a.ts", "Change without a body");
    commit("docs/a.md", "Not fine.");
    const { status, stderr } = run(SCRIPT, [base], shallowClone(2));
    assert.equal(status, 1);
    assert.match(stderr, /this clone is shallow and lacks/);
    assert.match(stderr, /"Not fine\.": the subject ends with a period/);
    // The parent of the oldest commit is not in the clone, so the files that it changes are unknown.
    assert.doesNotMatch(stderr, /Change without a body/);
  });

  test("a merge commit at the end of a shallow clone is exempt", () => {
    const base = head();
    git("switch", "--quiet", "--create", "other");
    commit("docs/other.md", "Other work");
    git("switch", "--quiet", "main");
    git("merge", "--quiet", "--no-ff", "--message", "Merge; the other work.", "other");
    const { status, stderr } = run(SCRIPT, [base], shallowClone(1));
    assert.equal(status, 0, stderr);
    assert.match(stderr, /this clone is shallow/);
  });

  test("a folder without git has nothing to check", () => {
    const plain = join(folder, "plain");
    mkdirSync(plain);
    const { status, stderr } = spawnSync(SCRIPT, [], { cwd: plain, env: { ...env, GIT_CEILING_DIRECTORIES: folder }, encoding: "utf8" });
    assert.deepEqual([status, stderr], [0, "check-commits: git finds no commits here; nothing to check\n"]);
  });

  test("the commit-msg hook applies the same rules", () => {
    const hook = join(repository, ".git", "hooks", "commit-msg");
    mkdirSync(join(hook, ".."), { recursive: true });
    symlinkSync(SCRIPT, hook);
    const parent = head();
    stage("src/hook.ts");
    const attempt = (message: string): Result => run("git", ["commit", "--message", message]);
    assert.match(attempt("Add a hook;").stderr, /^commit message: the subject has a semicolon/m);
    assert.match(attempt("Add a hook").stderr, /^commit message: the commit changes src\/ and has no body/m);
    assert.equal(head(), parent);
    assert.equal(attempt("Add a hook\n\nCI would find the fault only after a push.").status, 0);
    stage("src/hook.ts");
    assert.equal(run("git", ["commit", "--fixup", "HEAD"]).status, 0);
    rmSync(hook);
  });
});

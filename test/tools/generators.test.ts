/** Clients that generators of others make of docs/openapi.json compile strictly, and make the main calls to a live service. The generators
 *  are packages of the npm registry. sdk/test/generated-client.test.ts tests `openapi-typescript`. */
import assert from "node:assert/strict";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test, type TestContext } from "node:test";
import { RUN_VARIABLE } from "../../scripts/test/process-tree.ts";
import { ROOT } from "../support/doc-samples.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";
import { Hook } from "../support/hook-server.ts";
import { installPackages } from "../support/installed-packages.ts";
import { execute } from "../support/shell-session.ts";
import { WITH_WEBHOOKS } from "../support/webhook-customer.ts";

type Generator = {
  name: string;
  /** A program of the package, and its arguments. */
  command: string;
  /** The journey in test/support/generators/journeys. */
  journey: string;
  /** The content of `config.json`, if the program needs one. */
  config?: object;
  /** Options of the compiler that the generated code does not permit. */
  relaxed?: object;
};

const JOURNEYS = join(ROOT, "test", "support", "generators", "journeys");

/** All of them write TypeScript into the folder `client`, which Node runs without a compiler. */
const GENERATORS: readonly Generator[] = [
  {
    // It needs the interface of a compiler that TypeScript 7 does not have, so that the packages include TypeScript 6.
    name: "@hey-api/openapi-ts",
    command: "openapi-ts --file config.json",
    journey: "hey-api.ts",
    config: {
      input: "openapi.json",
      output: { path: "client", module: { extension: ".ts" } },
      logs: { file: false, level: "warn" },
    },
    // The part of the client that is the same for every document passes `undefined` for optional properties.
    relaxed: { exactOptionalPropertyTypes: false },
  },
  {
    name: "orval",
    command: "orval --config config.json --fail-on-warnings",
    journey: "orval.ts",
    config: {
      godwit: {
        input: "openapi.json",
        output: {
          target: "client/api.ts",
          client: "fetch",
          // Without it, no header has a type.
          headers: true,
          baseUrl: { runtime: 'process.env["GODWIT_URL"]' },
          // Its code for an operation that takes a file or JSON has no valid types.
          override: { contentType: { exclude: ["application/octet-stream"] } },
        },
      },
    },
  },
  {
    name: "swagger-typescript-api",
    // Errors that are thrown have no type, and Node does not run enums.
    command:
      "swagger-typescript-api generate --path openapi.json --output client --name api.ts --disable-throw-on-error --enum-style union --silent",
    journey: "swagger-typescript-api.ts",
  },
];

// Stricter than the options of most projects.
const STRICT = {
  target: "es2024",
  module: "nodenext",
  types: ["node"],
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  noImplicitOverride: true,
  noImplicitReturns: true,
  noFallthroughCasesInSwitch: true,
  noUnusedLocals: true,
  noUnusedParameters: true,
  erasableSyntaxOnly: true,
  verbatimModuleSyntax: true,
  allowImportingTsExtensions: true,
  noEmit: true,
};

let installed: ReturnType<typeof installPackages>;
let folder: string;
let godwit: Godwit;
let hook: Hook;
before(async () => {
  installed = installPackages("generators");
  folder = mkdtempSync(join(tmpdir(), "godwit-generators-"));
  godwit = await startGodwit(WITH_WEBHOOKS);
  hook = await Hook.listen();
});
after(async () => {
  await godwit.stop();
  await hook[Symbol.asyncDispose]();
  rmSync(folder, { recursive: true, force: true });
});

/** Runs a program of Node in a folder. Fails if it does not end with 0, and returns its output otherwise. */
async function run(cwd: string, args: readonly string[], variables: Record<string, string> = {}): Promise<string> {
  const env = { PATH: process.env["PATH"] ?? "", HOME: folder, [RUN_VARIABLE]: process.env[RUN_VARIABLE] ?? "", ...variables };
  const { code, output } = await execute(process.execPath, args, { cwd, env });
  assert.equal(code, 0, output);
  return output;
}

/** A project with the unchanged document and the journey of a generator. */
function makeProject({ journey, config, relaxed }: Generator): string {
  const project = join(folder, journey.replace(/\.ts$/, ""));
  mkdirSync(join(project, "node_modules"), { recursive: true });
  copyFileSync(join(ROOT, "docs", "openapi.json"), join(project, "openapi.json"));
  copyFileSync(join(JOURNEYS, journey), join(project, "journey.ts"));
  copyFileSync(join(JOURNEYS, "support.ts"), join(project, "support.ts"));
  // The journeys need only the types of Node.
  symlinkSync(join(ROOT, "node_modules", "@types"), join(project, "node_modules", "@types"));
  const write = (name: string, content: object): void => writeFileSync(join(project, name), JSON.stringify(content));
  write("package.json", { private: true, type: "module" });
  write("tsconfig.json", { compilerOptions: { ...STRICT, ...relaxed }, include: ["*.ts", "client"] });
  if (config !== undefined) write("config.json", config);
  return project;
}

/** The program of a generator and its arguments. Skips the test without the packages. */
function commandFor(context: TestContext, { command }: Generator): string[] | undefined {
  if ("missing" in installed) {
    context.skip(installed.missing);
    return undefined;
  }
  const [program = "", ...args] = command.split(" ");
  return [join(installed.folder, "node_modules", ".bin", program), ...args];
}

describe("a client that others generate compiles strictly, sends messages, reads lists and events, and gets typed refusals", () => {
  for (const generator of GENERATORS)
    test(generator.name, async (context) => {
      const command = commandFor(context, generator);
      if (command === undefined) return;
      const project = makeProject(generator);
      await run(project, command);
      assert.equal(await run(project, [join(ROOT, "node_modules", "typescript", "bin", "tsc"), "--project", "."]), "");
      const variables = { GODWIT_URL: godwit.url, GODWIT_KEY: await godwit.key({ account: generator.name }), HOOK_URL: hook.url() };
      assert.equal(await run(project, ["journey.ts"], variables), "arrived\n");
    });
});

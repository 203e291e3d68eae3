/** An empty project with the packed package installed, as a user has it, and functions to compile and run code in it. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

const SDK = join(import.meta.dirname, "..");
const ROOT = join(SDK, "..");

export type Ran = { code: number; output: string };

/** Runs a command and returns its exit code and output. */
export const run = (program: string, args: readonly string[], cwd: string, env: Record<string, string> = {}): Promise<Ran> =>
  new Promise((resolve) => {
    const options = { cwd, timeout: 120_000, env: { PATH: process.env["PATH"], HOME: process.env["HOME"], ...env } };
    execFile(program, [...args], options, (error, stdout, stderr) =>
      resolve({ code: error === null ? 0 : Number(error.code ?? 1), output: `${stdout}${stderr}` }),
    );
  });

export class PackedProject {
  readonly folder: string;
  readonly tarball: string;

  private constructor(folder: string, tarball: string) {
    this.folder = folder;
    this.tarball = tarball;
  }

  static async make(): Promise<PackedProject> {
    const folder = mkdtempSync(join(tmpdir(), "godwit-sdk-"));
    const packed = await run("npm", ["pack", "--json", "--pack-destination", folder], SDK);
    const name = /"filename": "([^"]+)"/.exec(packed.output)?.[1];
    if (packed.code !== 0 || name === undefined) throw new Error(packed.output);
    writeFileSync(join(folder, "package.json"), JSON.stringify({ name: "project", private: true, type: "module" }));
    const project = new PackedProject(folder, join(folder, name));
    // The package has no dependencies, so that nothing needs to be downloaded.
    const installed = await run("npm", ["install", "--offline", "--no-audit", "--no-fund", project.tarball], folder);
    if (installed.code !== 0) throw new Error(installed.output);
    return project;
  }

  write(name: string, text: string): string {
    const path = join(this.folder, name);
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
    return path;
  }

  /** Links a package of this checkout into the project, such as the types of Node. */
  link(name: string): void {
    mkdirSync(dirname(join(this.folder, "node_modules", name)), { recursive: true });
    symlinkSync(join(ROOT, "node_modules", name), join(this.folder, "node_modules", name));
  }

  /** Compiles strictly, with the declarations of the package. */
  async compile(compiler: "root" | "sdk", options: Record<string, unknown>, files: readonly string[]): Promise<Ran> {
    const config = { compilerOptions: { ...STRICT, ...options }, files };
    this.write("tsconfig.json", JSON.stringify(config));
    const home = compiler === "root" ? ROOT : SDK;
    return run(process.execPath, [join(home, "node_modules", "typescript", "bin", "tsc"), "-p", this.folder], this.folder);
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

const STRICT = {
  target: "es2022",
  module: "nodenext",
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noPropertyAccessFromIndexSignature: true,
  skipLibCheck: false,
  noEmit: true,
  allowImportingTsExtensions: true,
  types: [],
};

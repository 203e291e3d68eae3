/** A shell session for all samples of a page: variables are kept between samples, and every curl is recorded. */
import { spawn } from "node:child_process";
import { existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ROOT } from "./doc-samples.ts";
import { programPath } from "./programs.ts";

type Exchange = { status: string; body: string };
export type Ran = { code: number; output: string; exchanges: Exchange[] };

// This curl writes each status and body to a folder, and the id of the response to ID, as the pages instruct the reader. A list has no id of
// its own and leaves ID as it was.
const PRELUDE = `
set -eo pipefail
curl() {
  local file; file=$(mktemp "$SAMPLES/exchange.XXXXXX")
  command curl --max-time 20 -w '\\n%{http_code}' "$@" > "$file"
  local body; body=$(sed '$d' "$file")
  mv "$file" "$SAMPLES/$(date +%s%N).exchange"
  printf '%s\\n' "$body"
  local id; id=$(printf '%s' "$body" | grep -v '"next_cursor"' | grep -oE '"id": ?"[^"]+"' | head -1 | cut -d'"' -f4) || true
  [ -z "$id" ] || ID=$id
  local token; token=$(printf '%s' "$body" | grep -oE '"access_token": ?"[^"]+"' | cut -d'"' -f4) || true
  [ -z "$token" ] || ACCESS_TOKEN=$token
}
command -v uuidgen > /dev/null || uuidgen() { cat /proc/sys/kernel/random/uuid; }
godwit() { ${JSON.stringify(process.execPath)} ${JSON.stringify(programPath("godwit"))} "$@"; }
[ ! -e "$SAMPLES/variables" ] || . "$SAMPLES/variables"
`;
// Saves the variables of a block for the next one.
const EPILOGUE = `
declare -p | grep -E '^declare -(-|x) (ID|ACCESS_TOKEN|KEY|SECRET|[A-Z]+_(ID|SECRET|AT))=' > "$SAMPLES/variables" || true
`;

export class ShellSession {
  readonly folder = mkdtempSync(join(tmpdir(), "godwit-samples-"));
  readonly #env: Record<string, string>;

  constructor(env: Record<string, string>) {
    this.#env = env;
  }

  async run(text: string): Promise<Ran> {
    const before = new Set(this.#files());
    writeFileSync(join(this.folder, "block.sh"), `${PRELUDE}\n${text}\n${EPILOGUE}`);
    const env = { PATH: process.env["PATH"] ?? "", HOME: this.folder, SAMPLES: this.folder, ...this.#env };
    const { code, output } = await execute("bash", [join(this.folder, "block.sh")], { cwd: ROOT, env });
    const exchanges = this.#files()
      .filter((name) => !before.has(name))
      .map((name) => exchangeOf(readFileSync(name, "utf8")));
    return { code, output, exchanges };
  }

  /** The variables that the blocks have set, for programs of other languages. */
  variables(): Record<string, string> {
    const path = join(this.folder, "variables");
    const text = existsSync(path) ? readFileSync(path, "utf8") : "";
    return Object.fromEntries(Array.from(text.matchAll(/^declare -\S+ (\w+)="(.*)"$/gm), ([, name = "", value = ""]) => [name, value]));
  }

  #files(): string[] {
    return globSync(join(this.folder, "*.exchange")).toSorted();
  }

  [Symbol.dispose](): void {
    rmSync(this.folder, { recursive: true, force: true });
  }
}

function exchangeOf(text: string): Exchange {
  const end = text.lastIndexOf("\n");
  return { status: text.slice(end + 1), body: text.slice(0, end) };
}

const LIMIT_MS = 240_000;

/** Runs a program, and returns its exit code and output. After the time limit, the program and its child processes are killed. */
export const execute = (
  program: string,
  args: readonly string[],
  options: { cwd: string; env: Record<string, string> },
): Promise<{ code: number; output: string }> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, [...args], { ...options, detached: true, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    for (const stream of [child.stdout, child.stderr]) stream.on("data", (chunk: Buffer) => (output += chunk.toString()));
    const timer = setTimeout(() => {
      output += `\nnot done after ${LIMIT_MS / 1_000} seconds`;
      if (child.pid !== undefined) process.kill(-child.pid, "SIGKILL");
    }, LIMIT_MS);
    child.once("error", reject);
    child.once("close", (code) => {
      clearTimeout(timer);
      resolve({ code: code ?? 1, output });
    });
  });

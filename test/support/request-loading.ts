/** Sends messages through a proxy, with `request-load.ts`, while a test restarts nodes. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { atEnd } from "./at-end.ts";
import type { LoadResult } from "./request-load.ts";

const PROGRAM = join(import.meta.dirname, "request-load.ts");

/** `command` starts the program somewhere else, such as in another network. */
export type LoadOptions = { url: string; key: string; caFile?: string; command?: readonly string[] };

/** Returns the numbers of the messages that were sent while `work` ran. */
export async function underLoad({ url, key, caFile, command = [] }: LoadOptions, work: () => Promise<unknown>): Promise<LoadResult> {
  const [program = "", ...args] = [...command, process.execPath, PROGRAM, url, ...(caFile === undefined ? [] : [caFile])];
  const child = spawn(program, args, { env: { PATH: process.env["PATH"], REQUEST_LOAD_KEY: key }, stdio: ["pipe", "pipe", "inherit"] });
  atEnd(async () => void child.kill("SIGKILL"));
  let text = "";
  child.stdout.setEncoding("utf8").on("data", (part: string) => (text += part));
  try {
    await work();
  } finally {
    child.stdin.end();
    if (child.exitCode === null && child.signalCode === null) await once(child, "close");
  }
  return JSON.parse(text) as LoadResult;
}

/** bench/uploads: the memory of a node that many clients upload files to at once, over its memory while idle. The clients are another process, and each
 *  has a file of its own, which it repeats after a 503. The files take as much disk of the embedded database until the end.
 *
 *  npm run bench -- uploads [--uploads 1000] [--bytes 5242880] */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { rssMb } from "./cpu.ts";
import { machine, openBenchDatabase, out, startGodwit } from "./godwit.ts";
import { children, runBenchmark } from "./run.ts";

const { values } = parseArgs({ options: { uploads: { type: "string", default: "1000" }, bytes: { type: "string", default: "5242880" } } });
const [uploads, bytes] = [Number(values.uploads), Number(values.bytes)];
const WARM_UP = 20;
const IDLE_MS = 5_000;

type Outcome = { tookMs: number; refused: number; broken: number; others: string[] };

async function run(url: string, key: string, count: number, size: number): Promise<Outcome> {
  const clients = join(import.meta.dirname, "upload-clients.ts");
  const child = spawn(process.execPath, [clients, url, key, String(count), String(size)], { stdio: ["ignore", "pipe", "inherit"] });
  children.push(child);
  const [printed] = await Promise.all([text(child.stdout), once(child, "close")]);
  return JSON.parse(printed) as Outcome;
}

/** The highest memory of a process since the last reset. */
const highestMb = (pid: number): number => Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, "latin1"))?.[1]) / 1_024;
const resetHighest = (pid: number): void => writeFileSync(`/proc/${pid}/clear_refs`, "5");

await runBenchmark(async () => {
  const args = ["--roles", "api", "--workers", "1", "--max-connections-per-peer", "10000", "--media-quota", "1000"];
  const peer = await startGodwit("uploads", { args, scopes: ["media:write", "media:read"] });
  const { pid = 0 } = peer.child;
  const key = peer.headers["Authorization"]?.slice("Bearer ".length) ?? "";
  await run(peer.url, key, WARM_UP, 100_000);
  await sleep(IDLE_MS);
  const idleMb = rssMb(pid);
  resetHighest(pid);
  const { tookMs, refused, broken, others } = await run(peer.url, key, uploads, bytes);
  const highMb = highestMb(pid);
  await sleep(IDLE_MS);
  if (others.length > 0) throw new Error(`uploads were refused: ${others.join("; ")}`);
  const db = openBenchDatabase(peer);
  const [stored] = await db.rows<{ files: number; bytes: number }>({
    name: "stored",
    text: "select count(*)::integer as files, sum(bytes)::bigint as bytes from media_files where state = 'stored' and bytes = $1",
    values: [bytes],
  });
  await db.close();
  if (stored?.files !== uploads) throw new Error(`${stored?.files} files are stored, not ${uploads}`);
  const rate = ((uploads * bytes) / 1e6 / tookMs) * 1_000;
  out(machine());
  out(
    `${uploads} uploads of ${bytes} bytes at once: ${(tookMs / 1_000).toFixed(1)} s, ${rate.toFixed(0)} MB/s, ${refused} refused and repeated, ${broken} broken off`,
  );
  out(
    `memory of the node: ${idleMb.toFixed(0)} MB idle, ${highMb.toFixed(0)} MB at most, ${(highMb - idleMb).toFixed(0)} MB more; ${rssMb(pid).toFixed(0)} MB after it`,
  );
});

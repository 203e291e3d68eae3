/** A disk whose power can be cut: an ext4 file system that loses all or some of its unflushed writes. nbdkit serves the disk
 *  (`unflushed-disk.py`), nbdfuse turns it into a file, and a loop device mounts the file. `kill -9` of nbdkit is the power cut. */
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import {
  chmodSync,
  closeSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  readSync,
  realpathSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { poll } from "../../src/lib/wait.ts";
import { atEnd } from "../support/at-end.ts";
import { missingProgram } from "../support/debian-package.ts";
import { until } from "../support/expect.ts";

/** How many unflushed blocks the disk had, and how many of them it had written nevertheless. */
export type Remains = { unflushed: number; written: number };

const PLUGIN = join(import.meta.dirname, "unflushed-disk.py");
const NBDKIT = "/usr/bin/nbdkit";
const NBDFUSE = "/usr/bin/nbdfuse";
const MKFS = "/usr/sbin/mkfs.ext4";
// Debian's folder of libraries has the name of the machine's architecture.
const LIBRARIES = `/usr/lib/${process.arch === "arm64" ? "aarch64" : "x86_64"}-linux-gnu`;
const PYTHON_PLUGIN = `${LIBRARIES}/nbdkit/plugins/nbdkit-python-plugin.so`;
const DEVICES = ["/dev/fuse", "/dev/loop-control"];

// Under load, the disk is flushed every few milliseconds.
const UNFLUSHED_MS = 500;

// The records of the plugin's log: the number of a block, and its content.
const NUMBER_BYTES = 8;
const BLOCK_BYTES = 4_096;

/** The reason why there can be no such disk, after an attempt to install its programs. */
export function missingPowerCutDisk(): string | undefined {
  if (process.platform !== "linux" || process.getuid?.() !== 0) return "a disk whose power can be cut needs root on Linux";
  const device = DEVICES.find((path) => !existsSync(path));
  if (device !== undefined) return `a disk whose power can be cut needs ${device}`;
  return (
    missingProgram("e2fsprogs", MKFS) ??
    missingProgram("nbdkit", NBDKIT) ??
    missingProgram("nbdkit-plugin-python", PYTHON_PLUGIN) ??
    missingProgram("libnbd-bin", NBDFUSE)
  );
}

export class PowerCutDisk {
  /** The folder where the disk is mounted. */
  readonly mountPath: string;
  readonly #folder: string;
  #nbdkit: ChildProcess | undefined;
  #nbdfuse: ChildProcess | undefined;

  private constructor(folder: string) {
    this.#folder = folder;
    this.mountPath = join(folder, "disk");
  }

  /** Creates an empty disk, and mounts it. */
  static async create(sizeMb: number): Promise<PowerCutDisk> {
    const disk = new PowerCutDisk(realpathSync(mkdtempSync(join(tmpdir(), "godwit-power-"))));
    atEnd(() => disk[Symbol.asyncDispose]());
    // The user of the database needs access.
    chmodSync(disk.#folder, 0o755);
    mkdirSync(disk.mountPath);
    mkdirSync(disk.#path("fuse"));
    closeSync(openSync(disk.#path("backing"), "w"));
    truncateSync(disk.#path("backing"), sizeMb * 1_048_576);
    await disk.#attach();
    // Tables that the kernel initializes later would be written during the test.
    run(MKFS, "-q", "-F", "-b", String(BLOCK_BYTES), "-E", "lazy_itable_init=0,lazy_journal_init=0", disk.#file);
    disk.#mount();
    return disk;
  }

  /** Waits for a moment at which the disk has unflushed blocks. Gives up soon, because there may be no writes. */
  async untilUnflushed(): Promise<void> {
    const isUnflushed = async (): Promise<true | undefined> => statSync(this.#path("log")).size > 0 || undefined;
    await poll(isUnflushed, { timeoutMs: UNFLUSHED_MS, everyMs: 1 });
  }

  /** Makes each flush take so many seconds, or as long as before. */
  setFlushSeconds(seconds: number | undefined): void {
    if (seconds === undefined) rmSync(this.#path("delay"), { force: true });
    else writeFileSync(this.#path("delay"), String(seconds));
  }

  /** Cuts the power. From now on, each access to the disk fails that the kernel cannot serve from its memory. */
  async cut(): Promise<void> {
    // The disk ends first: the end of nbdfuse must not flush it.
    await end(this.#nbdkit);
    await end(this.#nbdfuse);
  }

  /** Ends the processes that still use the disk, and mounts the disk with the writes that it has flushed. Each unflushed block is there
   *  with the probability `survival`, because a real disk writes in any order. */
  async restore({ survival, random }: { survival: number; random: () => number }): Promise<Remains> {
    await this.#detach();
    const remains = this.#writeSome(() => random() < survival);
    await this.#attach();
    this.#mount();
    return remains;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.cut();
    await this.#detach();
    rmSync(this.#folder, { recursive: true, force: true });
  }

  #path(name: string): string {
    return join(this.#folder, name);
  }

  /** The disk as a file. */
  get #file(): string {
    return join(this.#path("fuse"), "disk");
  }

  async #attach(): Promise<void> {
    const socket = this.#path("socket");
    rmSync(socket, { force: true });
    // A test that is killed must not leave the programs behind.
    this.#nbdkit = spawn(
      NBDKIT,
      [
        "--exit-with-parent",
        "--unix",
        socket,
        "python",
        PLUGIN,
        ...["backing", "log", "delay"].map((name) => `${name}=${this.#path(name)}`),
      ],
      { stdio: ["ignore", "ignore", "inherit"] },
    );
    await until("nbdkit to listen", () => existsSync(socket));
    this.#nbdfuse = spawn(NBDFUSE, [this.#file, "--unix", socket], { stdio: "ignore" });
    await until("nbdfuse to show the disk", () => existsSync(this.#file));
  }

  #mount(): void {
    // Such a loop device is detached by the unmount.
    run("mount", "-t", "ext4", "-o", "loop", this.#file, this.mountPath);
  }

  /** Unmounts the disk, and the file that it is. */
  async #detach(): Promise<void> {
    await until("no process to use the disk", () => {
      const users = processesOn(this.mountPath);
      for (const pid of users) kill(pid);
      return users.length === 0;
    });
    for (const path of [this.mountPath, this.#path("fuse")])
      await until(`${path} to be unmounted`, () => !isMounted(path) || spawnSync("umount", [path]).status === 0);
  }

  /** Writes the chosen ones of the unflushed blocks to the backing file, in the order in which they were written. */
  #writeSome(choose: () => boolean): Remains {
    const remains = { unflushed: 0, written: 0 };
    const log = openSync(this.#path("log"), "r");
    const backing = openSync(this.#path("backing"), "r+");
    const record = Buffer.alloc(NUMBER_BYTES + BLOCK_BYTES);
    // The last record is incomplete where the kill stopped it.
    while (readSync(log, record) === record.length) {
      remains.unflushed += 1;
      if (!choose()) continue;
      remains.written += 1;
      writeSync(backing, record, NUMBER_BYTES, BLOCK_BYTES, Number(record.readBigUInt64LE()) * BLOCK_BYTES);
    }
    closeSync(log);
    closeSync(backing);
    return remains;
  }
}

function run(program: string, ...args: string[]): void {
  const { status, stderr, error } = spawnSync(program, args, { encoding: "utf8" });
  if (status !== 0) throw new Error(`${program}: ${stderr}`, { cause: error });
}

/** Kills the process, and waits until it has ended. */
async function end(child: ChildProcess | undefined): Promise<void> {
  if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
  const ended = once(child, "exit");
  child.kill("SIGKILL");
  await ended;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended by itself.
  }
}

/** The other processes whose working directory or open files are in the folder. */
function processesOn(folder: string): number[] {
  const isThere = (link: string): boolean => {
    try {
      return `${readlinkSync(link)}/`.startsWith(`${folder}/`);
    } catch {
      return false;
    }
  };
  const openFiles = (pid: string): string[] => {
    try {
      return readdirSync(`/proc/${pid}/fd`).map((name) => `/proc/${pid}/fd/${name}`);
    } catch {
      // The process has ended.
      return [];
    }
  };
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((pid) => isThere(`/proc/${pid}/cwd`) || openFiles(pid).some(isThere))
    .map(Number);
}

// A mount whose disk has ended can only be found in this list.
const isMounted = (path: string): boolean => readFileSync("/proc/mounts", "utf8").includes(` ${path} `);

/** The disk of the power-cut tests: it keeps flushed writes, and loses unflushed ones. Without this, those tests would prove nothing. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { before, test } from "node:test";
import { missingPowerCutDisk, PowerCutDisk } from "./power-cut-disk.ts";
import { seeded } from "../support/seed.ts";

const DISK_MB = 64;
const BLOCK_BYTES = 4_096;
const BLOCKS = 200;

let missing: string | undefined;
before(() => {
  missing = missingPowerCutDisk();
});

const blocksOf = (letter: string): Buffer => Buffer.alloc(BLOCKS * BLOCK_BYTES, letter);

/** Overwrites the file past the memory of the kernel: the disk has the writes, and no flush follows. */
function overwriteUnflushed(path: string, letter: string): void {
  const args = [`of=${path}`, `bs=${BLOCK_BYTES}`, "iflag=fullblock", "oflag=direct", "conv=notrunc"];
  const { status, stderr } = spawnSync("dd", args, { input: blocksOf(letter), encoding: "utf8" });
  assert.equal(status, 0, stderr);
  assert.ok(readFileSync(path).equals(blocksOf(letter)), "the disk returns what was written");
}

/** The letter of each block. */
const lettersOf = (path: string): string[] => {
  const content = readFileSync(path);
  const letters = Array.from({ length: BLOCKS }, (_, index) => String.fromCharCode(content[index * BLOCK_BYTES] ?? 0));
  assert.ok(content.equals(Buffer.concat(letters.map((letter) => Buffer.alloc(BLOCK_BYTES, letter)))), "every block is whole");
  return letters;
};

test("a file with fsync survives a power cut, and a file without does not", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  await using disk = await PowerCutDisk.create(DISK_MB);
  const [flushed, unflushed] = [join(disk.mountPath, "flushed"), join(disk.mountPath, "unflushed")];
  writeFileSync(flushed, "kept", { flush: true });
  writeFileSync(unflushed, "lost");
  await disk.cut();
  assert.throws(() => writeFileSync(flushed, "too late", { flush: true }), { code: "EIO" });
  await disk.restore({ survival: 0, random: seeded(context) });
  assert.equal(readFileSync(flushed, "utf8"), "kept");
  assert.ok(!existsSync(unflushed));
});

for (const [sentence, survival] of [
  ["no write that only reached the disk's memory survives a power cut", 0],
  ["some writes that only reached the disk's memory survive a power cut", 0.5],
  ["all writes that only reached the disk's memory survive a power cut", 1],
] as const) {
  test(`${sentence}, with a survival of ${survival}`, async (context) => {
    if (missing !== undefined) return context.skip(missing);
    await using disk = await PowerCutDisk.create(DISK_MB);
    const path = join(disk.mountPath, "file");
    writeFileSync(path, blocksOf("a"), { flush: true });
    overwriteUnflushed(path, "b");
    await disk.cut();
    const { unflushed, written } = await disk.restore({ survival, random: seeded(context) });
    assert.ok(unflushed >= BLOCKS, `${unflushed} unflushed blocks`);
    context.diagnostic(`${written} of ${unflushed} unflushed blocks survived`);
    assert.deepEqual(new Set(lettersOf(path)), new Set(survival === 0 ? "a" : survival === 1 ? "b" : "ab"));
  });
}

test("a block that was flushed does not return to an earlier content", async (context) => {
  if (missing !== undefined) return context.skip(missing);
  await using disk = await PowerCutDisk.create(DISK_MB);
  const path = join(disk.mountPath, "file");
  writeFileSync(path, blocksOf("a"), { flush: true });
  overwriteUnflushed(path, "b");
  writeFileSync(path, blocksOf("c"), { flush: true, flag: "r+" });
  await disk.cut();
  await disk.restore({ survival: 0.5, random: seeded(context) });
  assert.deepEqual(new Set(lettersOf(path)), new Set("c"));
});

/** Makes a recording the same in each run: ids, times, secrets and measured values are replaced by values of the same form. */
import { createHash } from "node:crypto";
import { uuidFromBytes, uuidTimeMs } from "../../src/lib/uuid.ts";
import { decodeId, encodeId, toId, type IdPrefix } from "../../src/model/id.ts";

// The recording happens on this day, and its first request at this time.
const DAY_MS = Date.parse("2026-11-17T00:00:00.000Z");
const FIRST_MS = Date.parse("2026-11-17T09:30:00.123Z");
const ONE_DAY_MS = 86_400_000;
const MINUTE_MS = 60_000;

// Requests of the scenario are further apart than this, and the times of one request are closer. Those of one request become one time.
const MAX_GAP_MS = 200;
// Between one request and the next.
const STEP_MS = 7_019;

const ID = /\b(msg|evt|acct|batch|key|req|whe|dlv|tmpl|sup|ver|aud|lnk|snd|rte|media)_[0-7][0-9a-hjkmnp-tv-z]{25}\b/g;
const TIME = /\b\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{3})?Z/g;

/** Values that a run measures or draws, by the name of their field. */
const MEASURED: Readonly<Record<string, unknown>> = {
  duration_ms: 41,
  time_to_delivered_ms: { p50: 2_300, p95: 7_900 },
  peer: "192.0.2.7",
};

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest();

/** `gw_live_Example1Example1…`: of the right form, and plainly no key. */
const fakeKey = (prefix: string, number: number): string => `${prefix}${`Example${number}`.repeat(5)}`;

/** Numbers the distinct values of a text in the order of their appearance. */
function numbering(): (value: string) => number {
  const seen = new Map<string, number>();
  return (value) => {
    if (!seen.has(value)) seen.set(value, seen.size + 1);
    return seen.get(value) ?? 0;
  };
}

export function stable<T>(recording: T): T {
  const text = JSON.stringify(recording, function replace(this: { created_at?: string }, name, value: unknown) {
    if (value === null) return null;
    // The use of a key is recorded some time after its first request.
    return name === "last_used_at" ? this.created_at : (MEASURED[name] ?? value);
  });
  const timeOf = clockOf(text);
  const [ids, keys, secrets, hashes] = [numbering(), numbering(), numbering(), numbering()];
  const replaced = text
    .replaceAll(ID, (id, prefix: IdPrefix) => stableId(id, prefix, ids, timeOf))
    .replaceAll(TIME, (time) => {
      const moved = new Date(timeOf(Date.parse(time))).toISOString();
      return time.includes(".") ? moved : moved.replace(".000Z", "Z");
    })
    .replaceAll(/\b(gw_live_)([0-9A-Za-z]{4})(…|[0-9A-Za-z]{36})/g, (_, prefix: string, start: string, end: string) => {
      const key = fakeKey(prefix, keys(start));
      return end === "…" ? `${key.slice(0, prefix.length + start.length)}…` : key;
    })
    .replaceAll(/\bwhsec_[A-Za-z0-9+/]{43}=/g, (secret) => `whsec_${Buffer.alloc(32, `Example ${secrets(secret)} `).toString("base64")}`)
    .replaceAll(/(?<="(?:hash|x|kid)":")[\w-]{43,64}(?=")/g, (value) =>
      digestOf(`hash ${hashes(value)}`)
        .toString(value.length === 64 ? "hex" : "base64url")
        .slice(0, value.length),
    )
    .replaceAll(/(?<="access_token":")[^"]+/g, FAKE_TOKEN);
  return JSON.parse(replaced) as T;
}

const part = (value: object): string => Buffer.from(JSON.stringify(value)).toString("base64url");
const FAKE_TOKEN = `${part({ alg: "EdDSA", typ: "at+jwt" })}.${part({ sub: "example" })}.${Buffer.from("signature").toString("base64url")}`;

/** The same id for the same id, with the time that its record has. The first event of a record has the id of the record. */
function stableId(text: string, prefix: IdPrefix, ids: (value: string) => number, timeOf: (ms: number) => number): string {
  const decoded = decodeId(prefix, text);
  // The first frame of a stream has the smallest id.
  if (decoded === undefined || uuidTimeMs(decoded) === 0) return text;
  const bytes = digestOf(`id ${ids(decoded.toString("hex"))}`).subarray(0, 16);
  bytes.writeUIntBE(timeOf(uuidTimeMs(decoded)), 0, 6);
  bytes.writeUInt8(0x70 | (bytes.readUInt8(6) & 0x0f), 6);
  bytes.writeUInt8(0x80 | (bytes.readUInt8(8) & 0x3f), 8);
  return encodeId(prefix, toId(prefix, uuidFromBytes(bytes)));
}

/** Moves times: those of the recording to its steps, a full minute to the same time of day, and any other by full minutes from a step. */
function clockOf(text: string): (ms: number) => number {
  const times = Array.from(text.matchAll(TIME), ([time]) => Date.parse(time));
  const created = Array.from(text.matchAll(ID), ([id, prefix = ""]) => {
    const decoded = decodeId(prefix as IdPrefix, id);
    return decoded === undefined ? [] : [uuidTimeMs(decoded)];
  }).flat();
  const last = Date.now();
  const first = Math.min(...created.filter((ms) => ms > last - ONE_DAY_MS));
  const during = [...new Set([...times, ...created])]
    .filter((ms) => ms >= first && ms <= last && ms % MINUTE_MS !== 0)
    .toSorted((a, b) => a - b);
  const steps = new Map<number, number>();
  during.forEach((ms, index) => {
    const before = during[index - 1] ?? ms;
    const step = steps.get(before) ?? 0;
    steps.set(ms, ms - before > MAX_GAP_MS ? step + 1 : step);
  });
  const movedOf = (ms: number): number | undefined => {
    const step = steps.get(ms);
    return step === undefined ? undefined : FIRST_MS + step * STEP_MS;
  };
  const dayOf = (ms: number): number => ms - (ms % ONE_DAY_MS);
  return (ms) => {
    const moved = movedOf(ms);
    if (moved !== undefined) return moved;
    if (ms % MINUTE_MS === 0) return ms - dayOf(first) + DAY_MS;
    const from = during.find((each) => (ms - each) % MINUTE_MS === 0);
    return from === undefined ? ms : (movedOf(from) ?? ms) + (ms - from);
  };
}

/** Pages of lists: newest first, by keyset, with an opaque cursor. */
import { crc32 } from "node:zlib";
import { Problem } from "../http/problem.ts";
import { HINT, nullable, optional, Type, type Schema } from "../http/schema.ts";
import { explainId, idPattern, type IdPrefix } from "../model/id.ts";
import { parseBoundedUrl } from "../lib/urls.ts";
import { firstUuidAt, MAX_UUID, NIL_UUID, uuidFromBytes, type Uuid } from "../lib/uuid.ts";

export const DEFAULT_LIMIT = 25;
const MAX_LIMIT = 100;

export const pageQuery = {
  limit: optional(
    Type.Integer({
      minimum: 1,
      maximum: MAX_LIMIT,
      description: `The maximum number of records on the page, 1 to ${MAX_LIMIT}. Default: ${DEFAULT_LIMIT}.`,
    }),
  ),
  cursor: optional(
    Type.String({ minLength: 1, maxLength: 200, description: "The `next_cursor` of the previous page. Omit it for the first page." }),
  ),
};

/** The id of a record in a query. Not among the schemas, which pages in browsers import: ids need buffers. */
export const idParameter = (prefix: IdPrefix, description: string) =>
  optional(Type.String({ pattern: idPattern(prefix), [HINT]: (text: string) => explainId(prefix, text), description }));

export const pageOf = <S extends Schema>(title: string, item: S) =>
  Type.Object(
    {
      data: Type.Array(item, { description: "The records of this page, newest first unless stated otherwise." }),
      has_more: Type.Boolean({ description: "Whether there are further pages." }),
      next_cursor: nullable(Type.String({ description: "The `cursor` of the next page. Null on the last page." })),
    },
    { title, description: "A page of a list." },
  );

/** The response of a list. `next` is the id after which the next page begins, and null on the last page. */
export const toPage = <T>(
  data: readonly T[],
  next: Uuid | null,
): { data: readonly T[]; has_more: boolean; next_cursor: string | null } => ({
  data,
  has_more: next !== null,
  next_cursor: next === null ? null : encodeCursor(next),
});

type RangeQuery = { cursor?: string | null; created_after?: string | null; created_before?: string | null };

/** A page of a list without filters. `list` returns the newest rows before an id. */
export async function pageFrom<Row extends { id: Uuid }, T>(
  query: RangeQuery & { limit?: number | null },
  list: (before: Uuid, limit: number) => Promise<Row[]>,
  toRecord: (row: Row) => T,
) {
  const limit = query.limit ?? DEFAULT_LIMIT;
  const found = await list(idRange(query).before, limit + 1);
  const page = found.slice(0, limit);
  return toPage(page.map(toRecord), found.length > limit ? (page.at(-1)?.id ?? null) : null);
}

/** The range of ids of a page: from `from`, and before `before`. Ids contain the time of creation. */
export function idRange({ cursor, created_after: after, created_before: before }: RangeQuery): { from: Uuid; before: Uuid } {
  const end = typeof before === "string" ? firstUuidAt(ceilToMs(before)) : MAX_UUID;
  const position = typeof cursor === "string" ? decodeCursor(cursor) : MAX_UUID;
  return {
    from: typeof after === "string" ? firstUuidAt(Date.parse(after) + 1) : NIL_UUID,
    before: Buffer.compare(position, end) < 0 ? position : end,
  };
}

/** `Date.parse` drops fractions of a millisecond. An exclusive bound is rounded up, so that it does not exclude more than requested. */
const ceilToMs = (text: string): number => Date.parse(text) + (/\.\d{3}0*[1-9]/.test(text) ? 1 : 0);

/** The path of the next page, for the Link header (RFC 8288), if the body is a page that has one. A page ends with its cursor. */
export function nextPageOf(url: string, body: string): string | undefined {
  const cursor = nextCursorOf(body);
  const next = cursor === undefined ? null : parseBoundedUrl(`http://localhost${url}`);
  if (cursor === undefined || next === null) return undefined;
  next.searchParams.set("cursor", cursor);
  return `${next.pathname}${next.search}`;
}

// The last two members of a page with the longest cursor.
const MAX_TAIL = 260;

const nextCursorOf = (body: string): string | undefined =>
  body.endsWith('"}') ? /"has_more":true,"next_cursor":"([\w-]{1,200})"\}$/.exec(body.slice(-MAX_TAIL))?.[1] : undefined;

/** Adds the mark of a server to the cursor of a page, if the page has one. */
export function markPage(body: string, mark: Buffer): string {
  const cursor = nextCursorOf(body);
  return cursor === undefined ? body : `${body.slice(0, -`${cursor}"}`.length)}${encodeCursor(decodeCursor(cursor), mark)}"}`;
}

// A version, the id, the mark of a server, and a checksum, by which a truncated, altered or invented cursor is recognized.
const VERSION = 1;
const MARKED_VERSION = 2;
const ID_BYTES = 16;
const MARK_BYTES = 6;
const CHECKSUM_BYTES = 4;
const ID_END = 1 + ID_BYTES;

/** `mark`: six bytes that name the server that has read the page, if it is not the primary. */
export function encodeCursor(id: Uuid, mark?: Buffer): string {
  const version = Buffer.of(mark === undefined ? VERSION : MARKED_VERSION);
  const head = Buffer.concat(mark === undefined ? [version, id] : [version, id, mark]);
  const checksum = Buffer.alloc(CHECKSUM_BYTES);
  checksum.writeUInt32BE(crc32(head));
  return Buffer.concat([head, checksum]).toString("base64url");
}

export const decodeCursor = (text: string): Uuid => uuidFromBytes(readCursor(text).subarray(1, ID_END));

/** The mark of the server that has read the page of the cursor. Undefined: the primary. */
export function markOf(text: string): Buffer | undefined {
  const head = readCursor(text);
  return head[0] === MARKED_VERSION ? head.subarray(ID_END) : undefined;
}

/** Returns the bytes without the checksum. */
function readCursor(text: string): Buffer {
  const bytes = Buffer.from(text, "base64url");
  const end = ID_END + (bytes[0] === MARKED_VERSION ? MARK_BYTES : 0);
  const isKnown = bytes[0] === VERSION || bytes[0] === MARKED_VERSION;
  if (isKnown && bytes.length === end + CHECKSUM_BYTES && bytes.toString("base64url") === text) {
    const head = bytes.subarray(0, end);
    if (bytes.readUInt32BE(end) === crc32(head)) return head;
  }
  throw new Problem("invalid_request_payload", {
    errors: [{ parameter: "cursor", code: "invalid_format", detail: "is not a cursor of this list: use next_cursor of the previous page" }],
  });
}

/** Uploads files to the Cloud API. A file is uploaded once for each number and while its id lasts; messages with the same file wait for one upload. */
import { randomUUID } from "node:crypto";
import { HttpClient, type HttpClientOptions, type HttpOutcome } from "../../outbound/http-client.ts";
import { parseIdentifier, parseJsonObject } from "../carrier-fields.ts";
import type { ResponseOutcome } from "../http-link.ts";
import type { OutgoingMedia } from "../carrier-file.ts";
import { interpretResponse } from "./errors.ts";

// WhatsApp keeps an uploaded file for 30 days.
const LASTS_MS = 29 * 24 * 3_600_000;
// A document of 100 MB at 10 Mbit/s. It is below the time limit of an attempt.
const UPLOAD_MS = 50_000;
const CONNECTIONS = 4;
const RETRY_MS = 5_000;

export type UploadTarget = {
  origin: string;
  /** The path of the number's media. */
  path: string;
  accessToken: string;
};

type Uploaded = string | ResponseOutcome;

export class CarrierUploads {
  readonly #target: UploadTarget;
  readonly #client: HttpClient;
  readonly #now: () => number;
  /** By file. */
  readonly #underWay = new Map<string, Promise<Uploaded>>();

  constructor(target: UploadTarget, options: Pick<HttpClientOptions, "gate" | "ca">, now: () => number) {
    this.#target = target;
    this.#now = now;
    this.#client = new HttpClient({ ...options, connections: CONNECTIONS, timeoutMs: UPLOAD_MS });
  }

  /** The id of the file at WhatsApp, or why it has none. */
  async idOf(media: OutgoingMedia, signal: AbortSignal): Promise<Uploaded> {
    const { origin, path } = this.#target;
    const known = await media.uploadedTo(`whatsapp ${origin}${path}`);
    if (known !== undefined) return known;
    const others = this.#underWay.get(media.file);
    if (others !== undefined) return others;
    const upload = this.#upload(media, signal).finally(() => this.#underWay.delete(media.file));
    this.#underWay.set(media.file, upload);
    return upload;
  }

  close(): Promise<void> {
    return this.#client.close();
  }

  async #upload(media: OutgoingMedia, signal: AbortSignal): Promise<Uploaded> {
    const { origin, path, accessToken } = this.#target;
    const boundary = randomUUID();
    const [head, tail] = formAround(media, boundary);
    const headers = {
      authorization: `Bearer ${accessToken}`,
      "content-type": `multipart/form-data; boundary=${boundary}`,
      "content-length": String(head.length + media.bytes + tail.length),
    };
    const stream = joined(head, media.read(), tail);
    const outcome = await this.#client.call({ origin, path, method: "POST", headers, body: "", stream }, signal);
    const id = idIn(outcome);
    if (id === undefined) return refusal(outcome);
    await media.uploaded(`whatsapp ${origin}${path}`, id, this.#now() + LASTS_MS);
    return id;
  }
}

/** The bytes of the form before and after the file. */
function formAround({ contentType, fileName }: OutgoingMedia, boundary: string): [Buffer, Buffer] {
  const field = (name: string, value: string): string =>
    `--${boundary}\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
  const name = encodeURIComponent(fileName ?? "file");
  const head = `${field("messaging_product", "whatsapp")}${field("type", contentType)}--${boundary}\r\ncontent-disposition: form-data; name="file"; filename="${name}"\r\ncontent-type: ${contentType}\r\n\r\n`;
  return [Buffer.from(head), Buffer.from(`\r\n--${boundary}--\r\n`)];
}

async function* joined(head: Buffer, file: AsyncIterable<Buffer>, tail: Buffer): AsyncGenerator<Buffer> {
  yield head;
  yield* file;
  yield tail;
}

function idIn(outcome: HttpOutcome): string | undefined {
  if (outcome.kind !== "response" || outcome.status < 200 || outcome.status > 299) return undefined;
  return parseIdentifier(parseJsonObject(outcome)?.["id"]);
}

/** No message has left, whatever became of the upload: the message tries again later, except if WhatsApp refuses the file. Other messages need no
 *  upload, so the link goes on. */
function refusal(outcome: HttpOutcome): ResponseOutcome {
  if (outcome.kind !== "response") return later(RETRY_MS, "carrier_unreachable");
  const meaning = interpretResponse(outcome, { attempt: 1 });
  if (meaning.kind === "paused") return meaning;
  if (meaning.kind === "throttled") return later(meaning.retryAfterMs ?? RETRY_MS, meaning.providerCode);
  if (meaning.kind === "refused" && meaning.isPermanent)
    return { ...meaning, code: "media_refused_by_carrier", message: "WhatsApp refused the file of the message" };
  return later(RETRY_MS, meaning.kind === "refused" ? meaning.providerCode : "media_upload_failed");
}

const later = (retryAfterMs: number, providerCode: string | null): ResponseOutcome => ({
  kind: "throttled",
  scope: "recipient",
  retryAfterMs,
  providerCode,
});

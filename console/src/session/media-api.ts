/** The media store: records, the bytes of files, and uploads with their progress. Files need an access token, so that no address of a file can
 *  be an attribute of an element. */
import { ConnectionError, type components, type QueryOf } from "godwit-sdk";
import { parseApiError } from "./api-error.ts";

export type Media = components["schemas"]["Media"];
type MediaPage = components["schemas"]["MediaPage"];
type TokenSource = (refused?: string) => Promise<string>;

export type UploadOptions = {
  idempotencyKey: string;
  /** Receives the share of the file that has left this computer, from 0 to 1. */
  onProgress: (share: number) => void;
  signal: AbortSignal;
};

type Received = { status: number; headers: Headers; text: string };

export class MediaApi {
  readonly #token: TokenSource;

  constructor(token: TokenSource) {
    this.#token = token;
  }

  async list(query: QueryOf<"listMedia">, signal: AbortSignal): Promise<MediaPage> {
    const filled = Object.entries(query).flatMap(([name, value]): [string, string][] =>
      value === undefined ? [] : [[name, String(value)]],
    );
    return (await this.#request("GET", `/v1/media?${new URLSearchParams(filled).toString()}`, signal)).json() as Promise<MediaPage>;
  }

  async get(id: string, signal: AbortSignal): Promise<Media> {
    return (await this.#request("GET", pathOf(id), signal)).json() as Promise<Media>;
  }

  async delete(id: string): Promise<void> {
    await this.#request("DELETE", pathOf(id));
  }

  /** The bytes of the file. */
  async content(id: string, signal?: AbortSignal): Promise<Blob> {
    return (await this.#request("GET", `${pathOf(id)}/content`, signal)).blob();
  }

  /** Uploads a file. Without a declared type, so that a file with JSON is not read as a request. */
  async upload(file: File, options: UploadOptions): Promise<Media> {
    const path = `/v1/media?${new URLSearchParams({ file_name: file.name }).toString()}`;
    const received = await this.#withToken((token) => post(path, file, token, options));
    if (received.status !== 201) throw parseApiError(received, received.text);
    return JSON.parse(received.text) as Media;
  }

  async #request(method: string, path: string, signal?: AbortSignal): Promise<Response> {
    const response = await this.#withToken(async (token) => {
      try {
        return await fetch(path, { method, headers: { authorization: `Bearer ${token}` }, signal: signal ?? null });
      } catch (error) {
        if (signal?.aborted === true) throw error;
        throw new ConnectionError("no response", { cause: error });
      }
    });
    if (!response.ok) throw parseApiError(response, await response.text());
    return response;
  }

  /** Repeats a request that was refused for its token with another token, if there is one. */
  async #withToken<T extends { status: number }>(send: (token: string) => Promise<T>): Promise<T> {
    const token = await this.#token();
    const received = await send(token);
    if (received.status !== 401) return received;
    const another = await this.#token(token);
    return another === token ? received : send(another);
  }
}

const pathOf = (id: string): string => `/v1/media/${encodeURIComponent(id)}`;

/** Sends a file with an XMLHttpRequest, because fetch reports no progress of a request. */
function post(path: string, file: File, token: string, { idempotencyKey, onProgress, signal }: UploadOptions): Promise<Received> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", path);
    request.setRequestHeader("authorization", `Bearer ${token}`);
    request.setRequestHeader("idempotency-key", idempotencyKey);
    request.setRequestHeader("content-type", "application/octet-stream");
    const abort = (): void => request.abort();
    const settle = (): void => signal.removeEventListener("abort", abort);
    signal.addEventListener("abort", abort);
    request.upload.addEventListener("progress", ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total));
    request.addEventListener("load", () => {
      const requestId = request.getResponseHeader("x-request-id");
      const headers = new Headers(requestId === null ? {} : { "x-request-id": requestId });
      resolve({ status: request.status, headers, text: request.responseText });
    });
    request.addEventListener("error", () => reject(new ConnectionError("the upload was interrupted")));
    request.addEventListener("abort", () => reject(signal.reason as Error));
    request.addEventListener("loadend", settle);
    request.send(file);
  });
}

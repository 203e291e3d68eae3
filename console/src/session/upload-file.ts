/** Uploads to the media store with their progress. */
import { ConnectionError, type Media } from "godwit-sdk";
import { parseApiError } from "./api-error.ts";

export type Upload = {
  idempotencyKey: string;
  /** Receives the share of the file that has left this computer, from 0 to 1. */
  onProgress: (share: number) => void;
  signal: AbortSignal;
};

type Received = { status: number; headers: Headers; text: string };

/** Uploads a file. A refused token is replaced once. */
export async function uploadFile(token: (refused?: string) => Promise<string>, file: File, upload: Upload): Promise<Media> {
  const first = await token();
  let received = await post(file, first, upload);
  const second = received.status === 401 ? await token(first) : first;
  if (second !== first) received = await post(file, second, upload);
  if (received.status !== 201) throw parseApiError(received, received.text);
  return JSON.parse(received.text) as Media;
}

/** Sends a file with an XMLHttpRequest, because fetch reports no progress of a request. Without a declared type, so that a file with JSON is not
 *  read as a request. */
function post(file: File, token: string, { idempotencyKey, onProgress, signal }: Upload): Promise<Received> {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/v1/media?${new URLSearchParams({ file_name: file.name }).toString()}`);
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

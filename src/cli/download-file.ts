/** Downloads the file of media into a file of this machine, or to the standard output. */
import { createHash } from "node:crypto";
import { once } from "node:events";
import { open, rename, rm } from "node:fs/promises";
import { StartupError } from "../database/startup-error.ts";
import type { MediaRecord } from "../media/media.ts";
import type { ClientConfig } from "./client-config.ts";
import {
  attemptRepeatedly,
  authorizationOf,
  failureResult,
  toApiResponse,
  urlOf,
  type ApiResponse,
  type NoResponse,
  type RepeatOptions,
  type RequestResult,
} from "./client.ts";
import { ProgressLine } from "./progress-line.ts";
import { progressText } from "./upload-file.ts";

type Write = (piece: Uint8Array) => Promise<unknown>;

/** The file appears under its name when it is complete. */
export async function downloadFile(client: ClientConfig, media: MediaRecord, path: string, options: RepeatOptions): Promise<RequestResult> {
  const partial = `${path}.part`;
  const fail = (error: Error): never => {
    throw new StartupError(`${path} cannot be written: ${error.message}`, { cause: error });
  };
  try {
    const outcome = await attemptRepeatedly(async (signal) => {
      const file = await open(partial, "w").catch(fail);
      try {
        return await attempt(client, media, (piece) => file.writeFile(piece).catch(fail), signal);
      } finally {
        await file.close();
      }
    }, options);
    if (outcome.kind === "response" && outcome.status === 200) await rename(partial, path);
    return outcome;
  } finally {
    await rm(partial, { force: true });
  }
}

/** An attempt that has written bytes cannot be repeated. */
export async function downloadToOutput(client: ClientConfig, media: MediaRecord, options: RepeatOptions): Promise<RequestResult> {
  let isBegun = false;
  const write: Write = async (piece) => {
    isBegun = true;
    if (!process.stdout.write(piece)) await once(process.stdout, "drain");
  };
  return attemptRepeatedly(async (signal) => {
    const result = await attempt(client, media, write, signal);
    return result.kind === "no_response" ? { ...result, isPermanent: result.isPermanent || isBegun } : result;
  }, options);
}

/** Requests the file once. The record of the media stands for it in the result. */
async function attempt(client: ClientConfig, media: MediaRecord, write: Write, signal: AbortSignal): Promise<ApiResponse | NoResponse> {
  const progress = new ProgressLine();
  try {
    const response = await fetch(urlOf(client, `/v1/media/${media.id}/content`), {
      redirect: "manual",
      headers: authorizationOf(client),
      signal,
    });
    if (response.status !== 200) return await toApiResponse(response);
    const hash = createHash("sha256");
    let bytes = 0;
    for await (const piece of response.body ?? []) {
      hash.update(piece as Uint8Array);
      await write(piece as Uint8Array);
      bytes += (piece as Uint8Array).length;
      if (process.stderr.isTTY) progress.show(() => progressText("downloaded", bytes, media.bytes ?? bytes));
    }
    if (hash.digest("hex") !== media.sha256) throw new Error("the response is not the file of the media");
    return { kind: "response", status: 200, url: response.url, headers: response.headers, text: "", json: media };
  } catch (error) {
    if (error instanceof StartupError) throw error;
    return failureResult(error as Error);
  } finally {
    progress.end();
  }
}

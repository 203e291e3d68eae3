/** Opens a file that a person sent: asks for its URL, which lasts five minutes, and requests that. The id lasts thirty days. */
import { requireUrl } from "../../lib/urls.ts";
import { causeOf } from "../../outbound/failure.ts";
import { callOnce, targetBelow, type HttpResponse } from "../../outbound/http-client.ts";
import { failedFile, fileUrl, openUrl, refusedFile } from "../carrier-file.ts";
import { asObject, parseJsonObject } from "../carrier-fields.ts";
import type { HttpLinkSettings } from "../http-link.ts";
import type { FileFailure, OpenFile } from "../carrier-file.ts";

type FileSettings = Pick<HttpLinkSettings, "gate" | "ca"> & { baseUrl: string; version: string; accessToken: string };

const CALL_MS = 15_000;
// The object does not exist, or is not shown to this token.
const NOT_FOUND = { code: 100, subcode: 33 };
// Meta serves files from hosts below these.
const META_HOSTS = /\.(fbsbx\.com|fbcdn\.net|facebook\.com|whatsapp\.net)$/;

export async function openMetaFile(settings: FileSettings, mediaId: string, signal: AbortSignal): Promise<OpenFile | FileFailure> {
  const { baseUrl, version, accessToken, gate, ca } = settings;
  const headers = { authorization: `Bearer ${accessToken}` };
  const { origin, path } = targetBelow(baseUrl, `/${version}/${encodeURIComponent(mediaId)}`);
  const response = await callOnce({ gate, ca, timeoutMs: CALL_MS }, { origin, path, method: "GET", headers, body: "" }, signal);
  if (response.kind !== "response") return failedFile("media_unreachable", false, `${response.failure}: ${causeOf(response.error)}`);
  const fields = parseJsonObject(response);
  if (response.status !== 200) return failureOf(response, asObject(fields?.["error"]));
  const isTrusted = ({ origin: own, protocol, hostname }: URL): boolean =>
    own === requireUrl(baseUrl).origin || (protocol === "https:" && META_HOSTS.test(hostname));
  const url = fileUrl(fields?.["url"], isTrusted);
  if (url === null) return failedFile("media_refused", true, "WhatsApp named no URL of the file that may be called");
  const opened = await openUrl({ gate, ca, headers, isTrusted }, url, signal);
  // The id was valid a moment ago: the URL may be asked for again.
  return opened.kind === "failed" && opened.reason === "media_expired" ? failedFile("media_unreachable", false, opened.detail) : opened;
}

function failureOf({ status }: HttpResponse, error: Readonly<Record<string, unknown>>): FileFailure {
  const { code, error_subcode: subcode } = error;
  if (code === NOT_FOUND.code && subcode === NOT_FOUND.subcode) return failedFile("media_expired", true, "WhatsApp does not have the file");
  const detail = typeof code === "number" ? `WhatsApp responded with ${status} and code ${code}` : `WhatsApp responded with ${status}`;
  return code === 190 ? failedFile("media_refused", false, detail) : refusedFile(status, detail);
}

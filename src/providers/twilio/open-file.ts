/** Opens a file of an MMS by its URL, which is below Twilio's API and redirects to a storage without credentials. */
import { requireUrl, withoutFinalSlashes } from "../../lib/urls.ts";
import { failedFile, fileUrl, openUrl } from "../carrier-file.ts";
import type { HttpLinkSettings } from "../http-link.ts";
import type { FileFailure, OpenFile } from "../carrier-file.ts";

type FileSettings = Pick<HttpLinkSettings, "gate" | "ca"> & { baseUrl: string };

// Regional base URLs, such as that of Ireland, are hosts of the same domain.
const API_ORIGIN = "https://api.twilio.com";
const TWILIO_HOST = /\.twilio\.com$/;

/** A webhook request names the URL, so the credentials go only below the base URL of the link, or to Twilio's API. */
export async function openMmsFile(
  { baseUrl, gate, ca }: FileSettings,
  authorization: string,
  carrierFile: string,
  signal: AbortSignal,
): Promise<OpenFile | FileFailure> {
  const base = requireUrl(baseUrl);
  const root = `${withoutFinalSlashes(base.pathname)}/`;
  const isTrusted = ({ origin, pathname }: URL): boolean =>
    (origin === base.origin && pathname.startsWith(root)) || (origin === API_ORIGIN && TWILIO_HOST.test(base.hostname));
  const url = fileUrl(carrierFile, isTrusted);
  if (url === null || !isTrusted(url))
    return failedFile("media_refused", true, "the URL of the file is not below the base URL of the link");
  return openUrl({ gate, ca, headers: { authorization }, isTrusted }, url, signal);
}

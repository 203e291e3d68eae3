/** The settings of the bucket for files. */
import { isLoopback } from "../lib/addresses.ts";
import { parseBoundedUrl } from "../lib/urls.ts";
import { SETTINGS } from "../settings.ts";

export type BucketSettings = {
  endpoint: string;
  name: string;
  region: string;
  /** Undefined: the client finds the credentials of the machine. */
  credentials: { accessKeyId: string; secretAccessKey: string } | undefined;
};

type BucketSetting = "mediaBucket" | "mediaBucketRegion" | "mediaBucketKeyId" | "mediaBucketSecret";
type SettingText = { text: string | undefined; from: string };

/** Undefined if files are stored in the database. */
export function readBucket(read: (name: BucketSetting) => SettingText, faults: string[]): BucketSettings | undefined {
  const { text, from } = read("mediaBucket");
  const [keyId, secret] = [read("mediaBucketKeyId").text, read("mediaBucketSecret").text];
  if (text === undefined) return undefined;
  const url = parseBoundedUrl(text);
  const fault = url === null ? "must be a URL" : faultOf(url);
  if (fault !== undefined) faults.push(`${from}: ${fault}`);
  if (keyId === undefined && secret !== undefined) faults.push(`${SETTINGS.mediaBucketKeyId.env}: is needed with its secret`);
  if (keyId !== undefined && secret === undefined) faults.push(`${SETTINGS.mediaBucketSecret.env}: is needed with the id of its key`);
  if (url === null || fault !== undefined) return undefined;
  return {
    endpoint: url.origin,
    name: nameIn(url),
    region: read("mediaBucketRegion").text ?? "",
    credentials: keyId === undefined || secret === undefined ? undefined : { accessKeyId: keyId, secretAccessKey: secret },
  };
}

const nameIn = ({ pathname }: URL): string => pathname.replace(/^\/|\/$/g, "");

function faultOf(url: URL): string | undefined {
  const { protocol, hostname, username, password, search, hash } = url;
  if (protocol !== "https:" && !(protocol === "http:" && isLoopback(hostname))) return "must be https, except on this machine";
  if (username + password + search + hash !== "") return "must be an endpoint with the name of a bucket, and nothing else";
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(nameIn(url))) return "must have the name of the bucket as its path";
  return undefined;
}

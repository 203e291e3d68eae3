/** AWS Signature Version 4 of one request, as the pages of AWS on signing describe it. */
import { createHash, createHmac } from "node:crypto";

export type AwsCredentials = { accessKeyId: string; secretAccessKey: string; region: string; service: string };
export type RequestToSign = {
  method: string;
  host: string;
  /** With the query. */
  path: string;
  /** With names in lower case. */
  headers: Readonly<Record<string, string>>;
  body: string;
  nowMs: number;
};

const ALGORITHM = "AWS4-HMAC-SHA256";

const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
const hmac = (key: string | Buffer, text: string): Buffer => createHmac("sha256", key).update(text).digest();

/** The headers of the request, with its date and its signature. */
export function signSigV4(credentials: AwsCredentials, request: RequestToSign): Record<string, string> {
  const { accessKeyId, secretAccessKey, region, service } = credentials;
  const date = new Date(request.nowMs).toISOString().replaceAll(/[-:]|\.\d{3}/g, "");
  const headers: Record<string, string> = { ...request.headers, host: request.host, "x-amz-date": date };
  const names = Object.keys(headers).toSorted();
  const scope = `${date.slice(0, 8)}/${region}/${service}/aws4_request`;
  const text = [ALGORITHM, date, scope, sha256(canonicalRequest(request, headers, names))].join("\n");
  const key = [date.slice(0, 8), region, service, "aws4_request"].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  const signature = hmac(key, text).toString("hex");
  const authorization = `${ALGORITHM} Credential=${accessKeyId}/${scope}, SignedHeaders=${names.join(";")}, Signature=${signature}`;
  return { ...headers, authorization };
}

function canonicalRequest({ method, path, body }: RequestToSign, headers: Record<string, string>, names: readonly string[]): string {
  const [pathname = "/", search = ""] = path.split("?");
  const lines = names.map((name) => `${name}:${headers[name]?.trim().replaceAll(/ +/g, " ")}\n`);
  const escaped = pathname.split("/").map(escape).join("/");
  return [method, escaped, canonicalQuery(search), lines.join(""), names.join(";"), sha256(body)].join("\n");
}

const canonicalQuery = (search: string): string =>
  Array.from(new URLSearchParams(search), ([name, value]) => [escape(name), escape(value)])
    // The name counts before the value: "a" comes before "a-b", although "a-b=" comes before "a=".
    .toSorted(([name = "", value = ""], [otherName = "", otherValue = ""]) => compare(name, otherName) || compare(value, otherValue))
    .map((pair) => pair.join("="))
    .join("&");

const compare = (one: string, other: string): number => (one < other ? -1 : Number(one > other));

/** The encoding of RFC 3986, which escapes a few more characters than `encodeURIComponent`. */
const escape = (text: string): string =>
  encodeURIComponent(text).replaceAll(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

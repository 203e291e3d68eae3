/** Access tokens by client credentials (RFC 6749, 4.4). A token is kept in memory until shortly before its end. */
import { basicAuthorization } from "../../lib/basic-authorization.ts";
import { within } from "../../lib/wait.ts";
import { parseBoundedUrl } from "../../lib/urls.ts";
import { causeOf } from "../../outbound/failure.ts";
import { callOnce, type HttpClientOptions, type HttpRequest, type HttpResponse } from "../../outbound/http-client.ts";
import { parseJsonObject } from "../carrier-fields.ts";
import type { CredentialsFailure, HttpLinkSettings, LinkCredentials } from "../http-link.ts";
import type { AuthDefinition } from "./definition.ts";
import type { DefinitionReader } from "./reader.ts";

type Token = {
  header: string;
  renewAt: number;
  /** It replaces a token that the carrier refused, and no response has confirmed it yet. */ isOnTrial: boolean;
};

const TIMEOUT_MS = 10_000;
const MAX_RESPONSE_BYTES = 32_768;
// A tenth of the time of a token, and a minute at most: longer than a message waits for its turn and its connection.
const MARGIN_SHARE = 0.1;
const MAX_MARGIN_SECONDS = 60;
// The time of a token whose response names none, and the longest that is believed.
const DEFAULT_SECONDS = 300;
const MAX_SECONDS = 86_400;
const AT = "request.auth";

export class AccessTokens {
  /** The scheme and the host of the token's URL. */
  readonly origin: string;
  readonly #request: HttpRequest;
  #token: Token | undefined;
  #pending: Promise<CredentialsFailure | undefined> | undefined;
  #wasRefused = false;

  constructor(reader: DefinitionReader, definition: Extract<AuthDefinition, { type: "oauth2" }>) {
    const constant = (name: "token_url" | "client_id" | "client_secret" | "scope" | "audience"): string =>
      reader.constant(definition[name] ?? "", `${AT}.${name}`);
    const url = parseBoundedUrl(constant("token_url"));
    if (url === null || !/^https?:$/.test(url.protocol) || url.username !== "")
      reader.fault(`${AT}.token_url`, "must be a URL without credentials");
    const [id, secret] = [constant("client_id"), constant("client_secret")];
    const form = new URLSearchParams({ grant_type: "client_credentials" });
    for (const name of ["scope", "audience"] as const) if (constant(name) !== "") form.set(name, constant(name));
    const headers: Record<string, string> = { "content-type": "application/x-www-form-urlencoded", accept: "application/json" };
    if (definition.client_auth === "body") {
      form.set("client_id", id);
      form.set("client_secret", secret);
    } else headers["authorization"] = basicAuthorization(formEncode(id), formEncode(secret));
    this.origin = url?.origin ?? "";
    this.#request = { origin: this.origin, path: `${url?.pathname}${url?.search}`, method: "POST", headers, body: form.toString() };
  }

  /** The value of the header. Call it after `ready`. */
  get header(): string {
    return this.#token?.header ?? "";
  }

  /** The tokens as credentials of a link. */
  forLink({ gate, ca }: Pick<HttpLinkSettings, "gate" | "ca">): LinkCredentials {
    const options = { gate, ...(ca === undefined ? {} : { ca }) };
    return {
      ready: (signal) => this.ready(options, signal),
      isStale: (request, response) => this.#isStale(request, response),
    };
  }

  /** Makes sure that there is a token. Callers at the same time share one request. */
  async ready(options: Pick<HttpClientOptions, "gate" | "ca">, signal: AbortSignal): Promise<CredentialsFailure | undefined> {
    if (this.#token !== undefined && performance.now() < this.#token.renewAt) return undefined;
    this.#pending ??= this.#fetch(options).finally(() => (this.#pending = undefined));
    const ended = this.#pending.then((failure) => ({ failure }));
    const outcome = await within(ended, TIMEOUT_MS, signal);
    return outcome === undefined ? { isRefused: false, reason: "no access token in time" } : outcome.failure;
  }

  /** Whether a response refuses a token that a new one may replace. A second refusal in a row is about the account. */
  #isStale({ headers }: HttpRequest, { status }: HttpResponse): boolean {
    const isCurrent = headers["authorization"] === this.#token?.header;
    if (status !== 401) {
      if (isCurrent && this.#token !== undefined) this.#token.isOnTrial = false;
      return false;
    }
    if (!isCurrent) return true;
    if (this.#token?.isOnTrial === true) return false;
    this.#token = undefined;
    this.#wasRefused = true;
    return true;
  }

  async #fetch(options: Pick<HttpClientOptions, "gate" | "ca">): Promise<CredentialsFailure | undefined> {
    const limits = { ...options, timeoutMs: TIMEOUT_MS, maxBodyBytes: MAX_RESPONSE_BYTES };
    const outcome = await callOnce(limits, this.#request, AbortSignal.timeout(TIMEOUT_MS));
    if (outcome.kind !== "response") return { isRefused: false, reason: `no access token: ${causeOf(outcome.error)}` };
    const { access_token: text, expires_in: seconds, error } = parseJsonObject(outcome) ?? {};
    if (outcome.status !== 200 || typeof text !== "string" || !/^[\x21-\x7e]{1,8192}$/.test(text)) {
      // The statuses of RFC 6749 for wrong credentials. Everything else may be over in a moment.
      const isRefused = [400, 401, 403].includes(outcome.status);
      const code = typeof error === "string" ? ` ${error.slice(0, 100).replaceAll(/[^\x20-\x7e]/g, "")}` : "";
      return { isRefused, reason: `no access token: HTTP ${outcome.status}${code} of the token URL` };
    }
    const lasts = Math.min(MAX_SECONDS, Number(seconds) > 0 ? Number(seconds) : DEFAULT_SECONDS);
    const renewAt = performance.now() + (lasts - Math.min(MAX_MARGIN_SECONDS, lasts * MARGIN_SHARE)) * 1_000;
    this.#token = { header: `Bearer ${text}`, renewAt, isOnTrial: this.#wasRefused };
    this.#wasRefused = false;
    return undefined;
  }
}

/** The encoding that RFC 6749 demands before credentials become a header. */
const formEncode = (text: string): string => new URLSearchParams({ v: text }).toString().slice("v=".length);

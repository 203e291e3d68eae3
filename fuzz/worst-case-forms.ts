/** Worst-case requests of the paths without a route: the token endpoint, and the callback of every provider that receives requests. */
import { createHmac, randomBytes } from "node:crypto";
import { HTTP_TOKEN, LINK } from "./service.ts";
import { PROVIDERS, type ProviderName } from "../src/providers/providers.ts";
import type { Provider } from "../src/providers/provider.ts";
import { graphCall, GRAPH_SECRETS } from "../test/support/fakes/graph.ts";
import { TWILIO_SECRETS } from "../test/support/fakes/twilio.ts";
import { BODIES, type Case } from "./worst-case.ts";

type Cases = { reference: Case; cases: readonly Case[] };

const FORM = { "content-type": "application/x-www-form-urlencoded" };

/** A form of that many bytes. */
const fields = (bytes: number, field: (index: number) => string): string => {
  const parts: string[] = [];
  for (let length = 0, index = 0; length < bytes; index += 1) length += parts.push(field(index)) && field(index).length + 1;
  return parts.slice(0, -1).join("&");
};

const FORMS: Readonly<Record<string, (bytes: number) => string>> = {
  "many fields": (bytes) => fields(bytes, (index) => index.toString(36)),
  "one field repeated with many values": (bytes) => fields(bytes, (index) => `a=${index}`),
  "one field repeated with one value": (bytes) => fields(bytes, () => "a=1"),
  "nothing but separators": (bytes) => "&".repeat(bytes),
  "two hundred long fields": (bytes) => fields(bytes, (index) => `f${index}=${"v".repeat(bytes / 195)}`),
  "one long value": (bytes) => `Body=${"%F0%9F%98%80".repeat((bytes - 5) / 12)}`,
  "one long name": (bytes) => `${"+".repeat(bytes - 2)}=1`,
  "broken escapes": (bytes) => "%".repeat(bytes),
  "a number of many blanks": (bytes) => `MessageSid=SM1&From=${"+".repeat(bytes - 30)}`,
};

const TOKEN_BYTES = 8_192;
const NAMED: Readonly<Record<string, string>> = {
  "many scopes": `scope=${"a+".repeat(4_000)}`,
  "many scopes of the right form": `scope=${Array.from({ length: 900 }, (_, index) => `a:${index}`).join("+")}`,
  "a long secret": `client_id=key_1&client_secret=${"x".repeat(8_000)}`,
};

/** The requests of the token endpoint, with the valid credential of a client. */
export function tokenCases({ id, secret }: { id: string; secret: string }): Cases {
  const basic = `Basic ${Buffer.from(`${id}:${secret}`).toString("base64")}`;
  const caseOf = (name: string, body: string, authorization = basic): Case => ({
    name: `POST /v1/oauth/token: ${name}`,
    method: "POST",
    path: "/v1/oauth/token",
    headers: { ...FORM, authorization },
    body: body.slice(0, TOKEN_BYTES),
  });
  const valid = "grant_type=client_credentials&";
  return {
    reference: caseOf("a valid form", `${valid}resource=${"x".repeat(8_000)}`),
    cases: [
      ...Object.entries(FORMS).map(([name, make]) => caseOf(name, valid + make(TOKEN_BYTES - valid.length))),
      ...Object.entries(NAMED).map(([name, form]) => caseOf(name, valid + form)),
      caseOf("a long header", valid, `Basic ${randomBytes(10_000).toString("base64")}`),
    ],
  };
}

const pathOf = (provider: ProviderName): string => `/providers/${provider}/${LINK}-${provider}`;

type Callback = {
  header: string;
  /** The header with which the provider signs this body. */
  sign: (body: string | Buffer) => string;
  valid: (bytes: number) => string;
  /** Shapes of the contents of a signed request. */
  signed: Readonly<Record<string, (bytes: number) => string>>;
};

const PUBLIC_URL = `https://godwit.example${pathOf("twilio")}`;

function signTwilio(body: string | Buffer): string {
  const form = [...new URLSearchParams(body.toString())].toSorted(([one], [other]) => (one < other ? -1 : Number(one > other)));
  const text = [...new Set(form.map(([name, value]) => name + value))].join("");
  return createHmac("sha1", TWILIO_SECRETS.authToken).update(`${PUBLIC_URL}${text}`).digest("base64");
}

const notifications = (bytes: number, item: (index: number) => object, kind: string, more: object = {}): string => {
  const one = JSON.stringify(item(0)).length + 1;
  const items = Array.from({ length: Math.min(1_000, Math.floor((bytes - 1_000) / one)) }, (_, index) => item(index));
  return graphCall({ [kind]: items, ...more });
};

/** As many reports as fit in a body. */
const reports = (bytes: number, item: (index: number) => object, kind: string): string => {
  const one = JSON.stringify(item(9_999)).length + 1;
  return JSON.stringify({
    [kind]: Array.from({ length: Math.max(1, Math.min(1_000, Math.floor((bytes - 100) / one))) }, (_, index) => item(index)),
  });
};

/** How each provider signs, and what it sends. */
const CALLBACKS: Readonly<Partial<Record<ProviderName, Callback>>> = {
  http: {
    header: "x-signature",
    sign: (body) => createHmac("sha256", HTTP_TOKEN).update(body).digest("hex"),
    valid: (bytes) => reports(bytes, (index) => ({ id: `c${index}`, status: "sent" }), "results"),
    signed: {
      "a thousand receipts of unknown messages": (bytes) => reports(bytes, (index) => ({ id: `c${index}`, status: "failed" }), "results"),
      "a thousand inbound messages": (bytes) =>
        reports(bytes, (index) => ({ id: `c${index}`, from: `1555${1_000_000 + index}`, to: "14155550100", text: "y" }), "messages"),
      "a list with nothing in it": (bytes) => reports(bytes, () => ({}), "results"),
      "a long number": (bytes) => reports(bytes, () => ({ id: "c", from: "+".repeat(bytes - 200), to: "1", text: "y" }), "messages"),
    },
  },
  twilio: {
    header: "x-twilio-signature",
    sign: signTwilio,
    valid: (bytes) => `MessageSid=SM1&MessageStatus=sent&Body=${"x".repeat(bytes - 40)}`,
    signed: { "a long text": (bytes) => `MessageSid=SM2&From=%2B15551234567&To=%2B14155550100&Body=${"%01".repeat((bytes - 80) / 3)}` },
  },
  whatsapp: {
    header: "x-hub-signature-256",
    sign: (body) => `sha256=${createHmac("sha256", GRAPH_SECRETS.appSecret).update(body).digest("hex")}`,
    valid: (bytes) => notifications(bytes, (index) => ({ id: `wamid.${index}`, status: "sent", recipient_id: "15551234567" }), "statuses"),
    signed: {
      "a thousand statuses of unknown messages": (bytes) =>
        notifications(
          bytes,
          (index) => ({ id: `wamid.${"x".repeat(400)}${index}`, status: "failed", errors: [{ code: 131_026, title: "t".repeat(400) }] }),
          "statuses",
        ),
      "a thousand statuses of a number without a link": (bytes) =>
        notifications(
          bytes,
          (index) => ({ id: `wamid.${index}`, status: "sent", recipient_id: "15551234567", more: "x".repeat(900) }),
          "statuses",
          { metadata: { display_phone_number: "14155550199", phone_number_id: "9009" } },
        ),
      "a thousand inbound messages": (bytes) =>
        notifications(
          bytes,
          (index) => ({ id: `wamid.${index}`, from: `1555${1_000_000 + index}`, type: "text", text: { body: "y".repeat(900) } }),
          "messages",
        ),
      "a long text": (bytes) =>
        notifications(
          bytes,
          () => ({ id: "wamid.1", from: "15551234567", type: "text", text: { body: "😀".repeat((bytes - 2_000) / 4) } }),
          "messages",
        ),
      "a long number": (bytes) =>
        notifications(bytes, () => ({ id: "wamid.1", from: "+".repeat(bytes - 2_000), type: "text" }), "messages"),
    },
  },
};

/** A made-up signature of the right length. */
const falsified = (signature: string): string => signature.replaceAll(/[0-8b-e]/g, "a");

/** The requests of every callback: without a signature, with a wrong one, and signed. */
export function carrierCases(): (Cases & { provider: ProviderName })[] {
  const receiving = Object.values(PROVIDERS).filter((provider) => (provider as Provider<never>).handleRequest !== undefined);
  return receiving.map((definition) => {
    const provider = definition.name as ProviderName;
    const { maxRequestBytes: bytes = 65_536 } = definition as Provider<never>;
    const callback = CALLBACKS[provider];
    if (callback === undefined) throw new Error(`how does ${provider} sign its requests? Add a row to CALLBACKS`);
    const caseOf = (name: string, body: string | Buffer, signature?: string): Case => ({
      name: `POST ${pathOf(provider)}: ${name}`,
      method: "POST",
      path: pathOf(provider),
      headers: { ...FORM, ...(signature === undefined ? {} : { [callback.header]: signature }) },
      body,
    });
    const shapes = Object.entries({ ...FORMS, ...BODIES, ...callback.signed }).map(([name, make]) => [name, make(bytes)] as const);
    const valid = callback.valid(bytes);
    return {
      provider,
      reference: caseOf("a valid request", valid, callback.sign(valid)),
      cases: shapes.flatMap(([name, body]) => [
        caseOf(`${name}, without a signature`, body),
        caseOf(`${name}, with a wrong signature`, body, falsified(callback.sign(body))),
        // Each of the contents of a signed request is stored, in a transaction of its own.
        { ...caseOf(`${name}, signed`, body, callback.sign(body)), ...(Object.hasOwn(callback.signed, name) ? { isValid: true } : {}) },
      ]),
    };
  });
}

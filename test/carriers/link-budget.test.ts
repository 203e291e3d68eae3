/** Reading and opening a link takes at most 50 ms of processor time of the main thread, whatever its account has stored. */
import assert from "node:assert/strict";
import { generateKeyPairSync, randomBytes } from "node:crypto";
import { test } from "node:test";
import { readPrivateKey } from "../../src/lib/private-key.ts";
import { SecretBox } from "../../src/lib/secret-box.ts";
import { CARRIERS } from "../../src/links/carrier-files.ts";
import {
  CREATED_PROVIDERS,
  settingFaults,
  settingsSchema,
  splitSecrets,
  type CreatedProvider,
  type LinkDefinition,
} from "../../src/links/link-definition.ts";
import type { Link } from "../../src/links/link.ts";
import { LinkReader, type UsableLink } from "../../src/links/stored-link.ts";
import { newId } from "../../src/model/id.ts";
import { NATIONAL_LANGUAGES } from "../../src/model/national-alphabets.ts";
import { AddressGate } from "../../src/outbound/address-gate.ts";
import { addressSet } from "../../src/lib/addresses.ts";
import { PROVIDERS } from "../../src/providers/providers.ts";
import type { Provider } from "../../src/providers/provider.ts";
import { selfSigned } from "../support/certificate.ts";
import { RecordingHost } from "../support/recording-host.ts";

const MAX_MS = 50;
const NO_ADDRESSES = addressSet([]);
const gate = new AddressGate({ allow: addressSet([{ address: "127.0.0.0", bits: 8 }]), deny: NO_ADDRESSES });

type Field = {
  type?: string | string[];
  enum?: unknown[];
  pattern?: string;
  maxLength?: number;
  maximum?: number;
  maxItems?: number;
  maxProperties?: number;
  items?: Field;
  properties?: Record<string, Field>;
  additionalProperties?: Field | boolean;
};

const pair = selfSigned();
const filled = (pem: string): string => pem.repeat(Math.floor(16_384 / pem.length));
const URL = `https://127.0.0.1/${"/a".repeat(1_000)}`;

/** Values of settings that have a form of their own. Two settings that exclude others are left out. */
const GIVEN: Readonly<Record<string, unknown>> = {
  host: undefined,
  port: undefined,
  hosts: Array.from({ length: 10 }, (_, index) => `127.0.0.1:${index + 1}`),
  tls: true,
  tls_ca: filled(pair.cert),
  tls_cert: filled(pair.cert),
  tls_key: pair.key + " ".repeat(16_384 - pair.key.length),
  receipt_ids: "learn",
  bind_mode: "pair",
  interface_version: 0x34,
  public_url: URL.replace("127.0.0.1", "a.example"),
  base_url: URL,
  version: "v999.99",
  languages: NATIONAL_LANGUAGES,
  long_text: "udh16",
  alphabet: "gsm7",
  receipt_errors: Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`code_${index}`, "a".repeat(60)])),
  tlvs: Array.from({ length: 20 }, (_, index) => ({ tag: 0x1400 + index, type: "string", value: "a".repeat(250) })),
  message_tlvs: Array.from({ length: 50 }, (_, index) => 0x1500 + index),
  status_final: Array.from({ length: 50 }, (_, index) => `${0x100 + 3 * index}-${0x101 + 3 * index}`),
  status_transient: Array.from({ length: 50 }, (_, index) => `${0x1000 + 3 * index}-${0x1001 + 3 * index}`),
  status_throttle: Array.from({ length: 50 }, (_, index) => `${0x2000 + 3 * index}-${0x2001 + 3 * index}`),
};

/** The largest value of a setting. */
function largest(name: string, field: Field): unknown {
  if (name in GIVEN) return GIVEN[name];
  const [type] = [field.type ?? "string"].flat();
  if (field.enum) return field.enum.at(-1);
  if (type === "boolean") return true;
  if (type === "integer" || type === "number") return field.maximum;
  if (type === "array") return Array.from({ length: field.maxItems ?? 0 }, () => largest("", field.items ?? {}));
  if (type === "object") {
    const member = field.additionalProperties as Field;
    return Object.fromEntries(Array.from({ length: field.maxProperties ?? 0 }, (_, index) => [`member_${index}`, largest("", member)]));
  }
  const most = /^\^\\[dw]\{1,(\d+)\}\$$/.exec(field.pattern ?? "")?.[1] ?? field.maxLength;
  return "1".repeat(Number(most));
}

const settingsOf = (provider: CreatedProvider): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries((settingsSchema(provider) as Field).properties ?? {}).flatMap(([name, field]) => {
      const value = largest(name, field);
      return value === undefined ? [] : [[name, value]];
    }),
  );

const msNow = ({ user, system } = process.threadCpuUsage()): number => (user + system) / 1_000;

/** The least processor time of some runs: the first ones compile, and garbage may be collected in any. */
async function leastMs(run: () => Promise<unknown>): Promise<number> {
  let least = Infinity;
  for (let count = 0; count < 5; count += 1) {
    const before = msNow();
    await run();
    least = Math.min(least, msNow() - before);
  }
  return least;
}

function read(definition: LinkDefinition, secrets: Record<string, string>): UsableLink {
  const row = { account_id: newId("acct", Date.now()), id: newId("lnk", Date.now()), name: "a", updated_at: new Date(), created_by: null };
  return new LinkReader(new SecretBox(Buffer.alloc(32)), gate).read({ ...row, definition, secrets, revision: "" });
}

async function open({ provider, settings }: Link): Promise<void> {
  const connection = await (PROVIDERS[provider] as Provider<unknown>).open(settings, new RecordingHost());
  await connection.close();
}

const PUBLIC_KEY = randomBytes(32).toString("base64");

/** The secrets and values that the file of each carrier names; empty ones are as long as they can be. */
const OF_CARRIERS: Readonly<Record<string, { secrets: Record<string, string>; values: Record<string, string> }>> = {
  aws: {
    secrets: { access_key_id: "", secret_access_key: "", callback_user: "", callback_password: "" },
    values: { region: "us-east-1", message_type: "", configuration_set: "" },
  },
  bandwidth: {
    secrets: { username: "", password: "", callback_user: "", callback_password: "" },
    values: { account_id: "", application_id: "" },
  },
  budgetsms: { secrets: { username: "", userid: "", handle: "", callback_token: "" }, values: {} },
  elks: { secrets: { username: "", password: "", callback_token: "" }, values: {} },
  infobip: { secrets: { api_key: "", callback_token: "" }, values: { base_url: "abc123.api.infobip.com" } },
  jasmin: { secrets: { username: "", password: "", callback_token: "" }, values: { host: "sms.example.com:1401" } },
  kannel: { secrets: { username: "", password: "", callback_token: "" }, values: { host: "sms.example.com:13013" } },
  plivo: { secrets: { auth_id: "", auth_token: "", callback_token: "" }, values: {} },
  routee: { secrets: { application_id: "", application_secret: "", callback_token: "" }, values: {} },
  signalwire: { secrets: { api_token: "", callback_token: "" }, values: { space: "example", project_id: "" } },
  sinch: { secrets: { api_token: "", webhook_secret: "" }, values: { region: "us", service_plan_id: "" } },
  telnyx: { secrets: { api_key: "", public_key: PUBLIC_KEY }, values: { messaging_profile_id: "" } },
  vonage: { secrets: { api_key: "", api_secret: "", signature_secret: "" }, values: {} },
};

/** The largest table with these members, among others of the same size. */
function filledTable(own: Readonly<Record<string, string>>, all: unknown): object {
  const others = Object.entries(all as Record<string, string>).slice(Object.keys(own).length);
  const most = others[0]?.[1] ?? "";
  return Object.fromEntries([...Object.entries(own).map(([name, text]) => [name, text || most]), ...others]);
}

function settingsFor(provider: CreatedProvider, carrier: string | undefined): Record<string, unknown> {
  const given = settingsOf(provider);
  const own = OF_CARRIERS[carrier ?? ""];
  if (own === undefined) return given;
  return { ...given, secrets: filledTable(own.secrets, given["secrets"]), values: filledTable(own.values, given["values"]) };
}

for (const provider of CREATED_PROVIDERS)
  for (const carrier of provider === "http" ? CARRIERS : [undefined])
    test(`a link of ${carrier ?? provider} with the largest settings is read and opened within ${MAX_MS} ms`, async () => {
      const settings = settingsFor(provider, carrier);
      assert.deepEqual(settingFaults({ provider, settings }), []);
      const { plain, secrets } = splitSecrets(provider, settings);
      const definition = { provider, ...(carrier && { carrier }), rate: 10_000, window: 100, settings: plain } as LinkDefinition;
      const { link, pause } = read(definition, secrets);
      assert.equal(pause, undefined);
      assert.ok((await leastMs(async () => read(definition, secrets))) < MAX_MS, "read");
      assert.ok((await leastMs(() => open(link))) < MAX_MS, "opened");
    });

/** DER: a tag, a length, and the content. */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag, 0x82, content.length >> 8, content.length & 0xff]), content]);
}

/** A key of DSA, whose public part takes seconds to compute. */
function dsaKey(label: string): string {
  const number = (): Buffer => der(0x02, Buffer.concat([Buffer.of(0x7f), randomBytes(1_998), Buffer.of(1)]));
  const kind = Buffer.from("06072a8648ce380401", "hex");
  const version = Buffer.from("020100", "hex");
  const text = der(0x30, version, der(0x30, kind, der(0x30, number(), number(), number())), der(0x04, number())).toString("base64");
  return `-----BEGIN ${label}-----\n${text.replaceAll(/(.{64})/g, "$1\n")}\n-----END ${label}-----\n`;
}

test("a private key of a kind that TLS does not use is refused before OpenSSL reads it", async () => {
  const { plain, secrets } = splitSecrets("smpp", settingsOf("smpp"));
  for (const key of [
    dsaKey("PRIVATE KEY"),
    dsaKey("RSA PRIVATE KEY"),
    dsaKey("EC PRIVATE KEY"),
    dsaKey("EC PARAMETERS") + dsaKey("PRIVATE KEY"),
  ]) {
    const before = msNow();
    const { pause } = read({ provider: "smpp", settings: plain }, { ...secrets, tls_key: key });
    assert.match(String(pause?.detail), /tls_cert/);
    assert.ok(msNow() - before < 500);
  }
});

test("the private keys that TLS uses are read in each of their formats", () => {
  const rsa = generateKeyPairSync("rsa", { modulusLength: 1_024 }).privateKey;
  const ec = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey;
  const ed = generateKeyPairSync("ed25519").privateKey;
  const texts = [
    ...[rsa, ec, ed].map((key) => key.export({ type: "pkcs8", format: "pem" })),
    rsa.export({ type: "pkcs1", format: "pem" }),
    `-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n${String(ec.export({ type: "sec1", format: "pem" }))}`,
  ];
  assert.deepEqual(
    texts.map((text) => readPrivateKey(String(text)).asymmetricKeyType),
    ["rsa", "ec", "ed25519", "rsa", "ec"],
  );
});

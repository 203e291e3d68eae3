import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SMPP_DEFAULTS, smscAddresses, type SmppSettings } from "../providers/smpp/settings.ts";
import { EMPTY_PLAN, readPlan, type Plan, type Tables } from "./plan.ts";

const SECRET = "hunter2-and-more";
const SECRETS: Readonly<Record<string, string>> = { PW: SECRET, TOKEN: "t", APP: "a", VERIFY: "v", AUTH: "x" };

const SMPP = { name: "acme", provider: "smpp", host: "smpp.acme.example", port: 2776, tls: true, system_id: "godwit", password_env: "PW" };
const WHATSAPP = {
  name: "wa",
  provider: "whatsapp",
  phone_number_id: "1065",
  access_token_env: "TOKEN",
  app_secret_env: "APP",
  verify_token_env: "VERIFY",
};
const TWILIO = { name: "backup", provider: "twilio", account_sid: "AC1", auth_token_env: "AUTH", public_url: "https://sms.example/" };
const SENDER = { number: "+14155550100", link: "acme", account: "default", environment: "live" };
const ROUTE = { channel: "sms", links: ["acme"] };

function read(tables: Tables): { plan: Plan; faults: string[] } {
  const faults: string[] = [];
  return { plan: readPlan(tables, (variable) => SECRETS[variable], faults), faults };
}
const faultsOf = (tables: Tables): string[] => read(tables).faults;

/** The settings of the one link of a plan without faults. */
function settingsOf(link: object): Record<string, unknown> {
  const { plan, faults } = read({ link: [link] });
  assert.deepEqual(faults, []);
  assert.equal(plan.links.length, 1);
  return plan.links[0]?.settings as Record<string, unknown>;
}

describe("a plan", () => {
  test("without tables is empty", () => {
    assert.deepEqual(read({}), { plan: EMPTY_PLAN, faults: [] });
  });

  test("has the countries, the pool, the preference and the rate of a sender", () => {
    const sender = { ...SENDER, countries: ["US"], pool: "alerts", preference: 5, rate: 0.5 };
    const { plan, faults } = read({ link: [SMPP], sender: [sender] });
    assert.deepEqual([plan.senders, faults], [[sender], []]);
  });

  test("has the links, senders, routes and countries of the file", () => {
    const route = {
      channel: "sms",
      environment: "live",
      countries: ["US"],
      prefixes: ["+1415"],
      priority: 5,
      links: ["acme", "backup"],
      weights: [3, 1],
    };
    const { plan, faults } = read({
      link: [SMPP, WHATSAPP, TWILIO],
      sender: [SENDER],
      route: [route],
      allowed_countries: { live: ["US", "CA"] },
    });
    assert.deepEqual(faults, []);
    assert.deepEqual(
      plan.links.map(({ name, provider, channels, sender }) => [name, provider, channels, sender]),
      [
        ["acme", "smpp", ["sms"], null],
        ["wa", "whatsapp", ["whatsapp"], null],
        ["backup", "twilio", ["sms"], null],
      ],
    );
    assert.deepEqual(plan.senders, [SENDER]);
    assert.deepEqual(plan.routes, [route]);
    assert.deepEqual(plan.allowedCountries, { live: ["US", "CA"] });
  });
});

describe("the settings of a link", () => {
  test("may have several hosts in place of one, and plain text to any of them is refused", () => {
    const { host: _, port: __, ...rest } = SMPP;
    const settings = settingsOf({ ...rest, hosts: ["a.example:2775", "[2001:db8::1]:2776"], binds: 2 });
    assert.deepEqual([settings["host"], settings["port"], settings["binds"]], ["a.example", 2775, 2]);
    assert.deepEqual(smscAddresses(settings as SmppSettings), [
      { host: "a.example", port: 2775 },
      { host: "2001:db8::1", port: 2776 },
    ]);
    const [fault] = faultsOf({ link: [{ ...rest, tls: false, hosts: ["127.0.0.1:2775", "b.example:2775"] }] });
    assert.match(fault ?? "", /tls: is off, and b\.example is on another machine/);
  });

  test("name one account at the carrier, whatever the order of the hosts is", () => {
    const { host: _, port: __, ...rest } = SMPP;
    const hosts = ["b.example:2775", "a.example:2776"];
    const { plan } = read({
      link: [
        { ...rest, hosts },
        { ...rest, name: "second", hosts: hosts.toReversed() },
      ],
    });
    const [first, second] = plan.links;
    assert.deepEqual(first?.carrierAccount, second?.carrierAccount, "receipts of one are those of the other");
  });

  test("are those of its provider, with defaults, the secret from its variable and the rate under the provider's name", () => {
    const settings = settingsOf({ ...SMPP, rate: 50, window: 20, tls: true, source_ton: 5, bind_mode: "pair" });
    assert.deepEqual(settings, {
      ...SMPP_DEFAULTS,
      host: "smpp.acme.example",
      port: 2776,
      tls: true,
      systemId: "godwit",
      password: SECRET,
      bindMode: "pair",
      window: 20,
      partsPerSecond: 50,
      sourceTon: 5,
    });
  });

  test("for the carrier's own words in receipts are bounded, and are looked up in capitals", () => {
    const settings = settingsOf({ ...SMPP, receipt_words: { delivrd2: "delivered" }, receipt_errors: { "0a1": "invalid_destination" } });
    assert.deepEqual([settings["receiptWords"], settings["receiptErrors"]], [{ DELIVRD2: "delivered" }, { "0A1": "invalid_destination" }]);
    const many = Object.fromEntries(Array.from({ length: 101 }, (_, index) => [`W${index}`, "sent"]));
    for (const [wrong, fault] of [
      [{ receipt_words: { A: "read" } }, /link acme: receipt_words.A: /],
      [{ receipt_words: { "A B": "sent" } }, /link acme: receipt_words/],
      [{ receipt_words: many }, /link acme: receipt_words: /],
      [{ receipt_words: { a: "sent", A: "expired" } }, /link acme: receipt_words: has a word twice/],
      [{ receipt_errors: { A: "Not A Code" } }, /link acme: receipt_errors.A: must be an error code/],
    ] as const)
      assert.match(faultsOf({ link: [{ ...SMPP, ...wrong }] }).join(), fault);
  });

  test("that every link has are not passed to its provider", () => {
    const { plan, faults } = read({ link: [{ ...SMPP, country: "GB", inbound_account: "desk", sender: "12345" }, WHATSAPP] });
    assert.deepEqual(faults, []);
    assert.deepEqual(
      plan.links.map(({ country, inboundAccount, sender }) => [country, inboundAccount, sender]),
      [
        ["GB", "desk", "12345"],
        [null, null, null],
      ],
    );
    for (const name of ["country", "inboundAccount", "sender"]) assert.ok(!Object.hasOwn(plan.links[0]?.settings as object, name));
  });

  test("refuse a country that does not exist", () => {
    assert.deepEqual(faultsOf({ link: [{ ...SMPP, country: "ZZ" }] }), ["link acme: country: is not a country"]);
    assert.deepEqual(faultsOf({ link: [{ ...SMPP, country: "gb" }] }), ["link acme: country: must be a country of two letters such as US"]);
  });

  test("of whatsapp have a rate of messages and three secrets", () => {
    const settings = settingsOf({ ...WHATSAPP, rate: 20, waba_id: "77" });
    assert.deepEqual(settings, {
      baseUrl: "https://graph.facebook.com",
      version: "v23.0",
      phoneNumberId: "1065",
      wabaId: "77",
      accessToken: "t",
      appSecret: "a",
      verifyToken: "v",
      messagesPerSecond: 20,
      window: 50,
    });
  });

  test("of twilio contain the URL that the carrier calls", () => {
    assert.deepEqual(settingsOf(TWILIO), {
      baseUrl: "https://api.twilio.com",
      messagingServiceSid: null,
      partsPerSecond: 10,
      window: 20,
      accountSid: "AC1",
      authToken: "x",
      statusCallbackUrl: "https://sms.example/providers/twilio/backup",
    });
  });

  test("do not contain the sender and the policy for an unknown outcome", () => {
    const { plan, faults } = read({ link: [{ ...SMPP, sender: "ACME", on_unknown: "resend", hold_seconds: 30 }] });
    assert.deepEqual(faults, []);
    const [link] = plan.links;
    assert.ok(link !== undefined);
    assert.deepEqual([link.sender, link.onUnknown], ["ACME", { policy: "resend", holdMs: 30_000 }]);
    for (const name of ["name", "provider", "sender", "onUnknown", "holdSeconds"]) assert.ok(!(name in (link.settings as object)), name);
  });

  test("fail an unknown outcome after five minutes by default", () => {
    assert.deepEqual(read({ link: [SMPP] }).plan.links[0]?.onUnknown, { policy: "fail", holdMs: 300_000 });
  });

  test("refuse no recipient before the carrier does", () => {
    const { unwilling } = read({ link: [SMPP] }).plan.links[0] ?? {};
    assert.deepEqual(unwilling, { optedOut: new Set(), windowClosed: new Set() });
  });
});

const { port: _port, password_env: _password, ...WITHOUT_TWO } = SMPP;

const FAULTS: readonly (readonly [what: string, tables: Tables, faults: readonly string[]])[] = [
  [
    "a host beside a list of hosts",
    { link: [{ ...SMPP, hosts: ["a.example:2775"] }] },
    ["link acme: hosts: cannot be combined with host and port"],
  ],
  [
    "a route over a link that only receives",
    { link: [{ ...SMPP, bind_mode: "receiver" }], route: [ROUTE] },
    ["route 1: the link acme does not carry sms"],
  ],
  [
    "a client certificate without its key",
    { link: [{ ...SMPP, tls_cert: "pem" }] },
    ["link acme: tls_cert: needs tls_key_env, and the other way round"],
  ],
  [
    "a client certificate that cannot be read",
    { link: [{ ...SMPP, tls_cert: "pem", tls_key_env: "PW" }] },
    ["link acme: tls_cert: the certificate and the key in tls_key_env do not belong together, or cannot be read"],
  ],
  [
    "a parameter with a value that its type cannot have",
    { link: [{ ...SMPP, tlvs: [{ tag: 0x1500, type: "int8", value: 256 }] }] },
    ["link acme: tlvs: 0x1500 must have an integer from 0 to 255"],
  ],
  [
    "a parameter that the service sets itself",
    { link: [{ ...SMPP, message_tlvs: [0x0424] }] },
    ["link acme: message_tlvs: 0x0424 is set by the service itself"],
  ],
  [
    "a status in two lists",
    { link: [{ ...SMPP, status_final: ["0x400-0x4FF"], status_throttle: [0x402] }] },
    ["link acme: status_throttle: 0x402: is in status_final as well"],
  ],
  [
    "a range of statuses that ends before it begins",
    { link: [{ ...SMPP, status_transient: ["0x4FF-0x400"] }] },
    ["link acme: status_transient: 0x4FF-0x400: ends before it begins"],
  ],
  ["a link written as one table", { link: SMPP }, ["link: must be written [[link]]"]],
  ["a sender written as one table", { sender: SENDER }, ["sender: must be written [[sender]]"]],
  ["a route written as one table", { route: ROUTE }, ["route: must be written [[route]]"]],
  [
    "a carrier in place of the provider",
    { link: [{ ...SMPP, provider: "telnyx" }] },
    ["link acme: provider: is not known; did you mean http with carrier telnyx? It must be one of simulator, smpp, whatsapp, twilio, http"],
  ],
  ["a link that is no table", { link: ["acme"] }, ["link 1: provider: must be one of simulator, smpp, whatsapp, twilio, http"]],
  [
    "an unknown provider",
    { link: [{ ...SMPP, provider: "pigeon" }] },
    ["link acme: provider: must be one of simulator, smpp, whatsapp, twilio, http"],
  ],
  [
    "a provider by a name of JavaScript's",
    { link: [{ ...SMPP, provider: "toString" }] },
    ["link acme: provider: must be one of simulator, smpp, whatsapp, twilio, http"],
  ],
  [
    "no provider, in a link without a name",
    { link: [SMPP, {}] },
    ["link 2: provider: must be one of simulator, smpp, whatsapp, twilio, http"],
  ],
  ["two settings that are missing", { link: [WITHOUT_TWO] }, ["link acme: port: is required", "link acme: password_env: is required"]],
  ["an unknown setting", { link: [{ ...SMPP, color: "red" }] }, ["link acme: color: is not a known field"]],
  ["a setting of another provider", { link: [{ ...SMPP, account_sid: "AC1" }] }, ["link acme: account_sid: is not a known field"]],
  ["a port in quotes", { link: [{ ...SMPP, port: "2776" }] }, ["link acme: port: must be an integer"]],
  ["a port beyond all ports", { link: [{ ...SMPP, port: 65_536 }] }, ["link acme: port: must be at most 65,535"]],
  ["no window at all", { link: [{ ...SMPP, window: 0 }] }, ["link acme: window: must be at least 1"]],
  ["no rate at all", { link: [{ ...SMPP, rate: 0 }] }, ["link acme: rate: must be at least 0.1"]],
  ["an unknown policy", { link: [{ ...SMPP, on_unknown: "pray" }] }, ["link acme: on_unknown: must be one of fail, resend"]],
  ["a hold of no time", { link: [{ ...SMPP, hold_seconds: 0 }] }, ["link acme: hold_seconds: must be at least 1"]],
  [
    "a sender that no carrier takes",
    { link: [{ ...SMPP, sender: "far too long a name" }] },
    ["link acme: sender: must be an E.164 number, a short code, or a name of up to 11 characters"],
  ],
  ["a URL without a scheme", { link: [{ ...TWILIO, public_url: "sms.example" }] }, ["link backup: public_url: must be a URL"]],
  [
    "a name with a space",
    { link: [{ ...SMPP, name: "ac me" }] },
    ["link ac me: name: must be up to 40 of a-z, 0-9, _ and -, and begin with a letter"],
  ],
  [
    "a name like a lane of ours",
    { link: [{ ...SMPP, name: "@scheduled" }] },
    ["link @scheduled: name: must be up to 40 of a-z, 0-9, _ and -, and begin with a letter"],
  ],
  [
    "a secret whose variable is not set",
    { link: [{ ...SMPP, password_env: "ABSENT" }] },
    ["link acme: password_env: the variable ABSENT is not set"],
  ],
  [
    "two secrets whose variables are not set",
    { link: [{ ...WHATSAPP, access_token_env: "A1", app_secret_env: "A2" }] },
    ["link wa: access_token_env: the variable A1 is not set", "link wa: app_secret_env: the variable A2 is not set"],
  ],
  ["a name that two links have", { link: [SMPP, { ...TWILIO, name: "acme" }] }, ["link acme: is defined twice"]],
  ["a name that three links have, reported once", { link: [SMPP, SMPP, SMPP] }, ["link acme: is defined twice"]],
  [
    "the simulator's name",
    { link: [{ ...SMPP, name: "simulator" }] },
    ["link simulator: is the name of the built-in simulator; choose another name"],
  ],
  [
    "a sender on a link that is not there",
    { link: [SMPP], sender: [{ ...SENDER, link: "nope" }] },
    ["sender +14155550100: there is no link nope"],
  ],
  [
    "a sender twice on one link, reported once",
    { link: [SMPP], sender: [SENDER, SENDER] },
    ["sender +14155550100: is defined twice on link acme"],
  ],
  [
    "a number of two accounts",
    { link: [SMPP, TWILIO], sender: [SENDER, { ...SENDER, link: "backup", account: "other" }] },
    ["sender +14155550100: must belong to one account and environment only"],
  ],
  [
    "a number of two environments",
    { link: [SMPP, TWILIO], sender: [SENDER, { ...SENDER, link: "backup", environment: "test" }] },
    ["sender +14155550100: must belong to one account and environment only"],
  ],
  [
    "a sender without an account",
    { link: [SMPP], sender: [{ number: "+14155550100", link: "acme", environment: "live" }] },
    ["sender 1: account: is required"],
  ],
  [
    "a sender of no environment that there is",
    { link: [SMPP], sender: [{ ...SENDER, environment: "prod" }] },
    ["sender 1: environment: must be one of test, live"],
  ],
  [
    "a sender that is none",
    { link: [SMPP], sender: [{ ...SENDER, number: "+0" }] },
    ["sender 1: number: must be an E.164 number, a short code, or a name of up to 11 characters"],
  ],
  [
    "settings of a sender that are out of range",
    { link: [SMPP], sender: [{ ...SENDER, countries: [], pool: "Not a name", preference: 0.5, rate: 0 }] },
    [
      "sender 1: countries: must have at least 1 item",
      "sender 1: pool: must be up to 40 of a-z, 0-9, _ and -, and begin with a letter",
      "sender 1: preference: must be an integer",
      "sender 1: rate: must be at least 0.01",
    ],
  ],
  [
    "an unknown field of a sender",
    { link: [SMPP], sender: [SENDER, { ...SENDER, number: "1234", owner: "me" }] },
    ["sender 2: owner: is not a known field"],
  ],
  [
    "a route to a link that is not there",
    { link: [SMPP], route: [{ channel: "sms", links: ["acme", "nope"] }] },
    ["route 1: there is no link nope"],
  ],
  ["a route to no link", { link: [SMPP], route: [{ channel: "sms", links: [] }] }, ["route 1: links: must have at least 1 item"]],
  [
    "a route to one link twice",
    { link: [SMPP], route: [{ channel: "sms", links: ["acme", "acme"] }] },
    ["route 1: links: acme is listed twice"],
  ],
  [
    "a route to a link that does not carry its channel",
    { link: [SMPP, WHATSAPP], route: [{ channel: "sms", links: ["wa"] }] },
    ["route 1: the link wa does not carry sms"],
  ],
  ["a route without a channel", { link: [SMPP], route: [ROUTE, { links: ["acme"] }] }, ["route 2: channel: is required"]],
  ["an unknown channel", { link: [SMPP], route: [{ ...ROUTE, channel: "fax" }] }, ["route 1: channel: must be one of sms, whatsapp"]],
  [
    "a route of test",
    { link: [SMPP], route: [{ ...ROUTE, environment: "test" }] },
    ["route 1: environment: test always uses the simulator"],
  ],
  [
    "a country in small letters",
    { link: [SMPP], route: [{ ...ROUTE, countries: ["US", "ca"] }] },
    ["route 1: countries.1: must be a country of two letters such as US"],
  ],
  [
    "a prefix without its plus",
    { link: [SMPP], route: [{ ...ROUTE, prefixes: ["1415"] }] },
    ["route 1: prefixes.0: must be the beginning of a number such as +1415"],
  ],
  ["a priority in quotes", { link: [SMPP], route: [{ ...ROUTE, priority: "1" }] }, ["route 1: priority: must be an integer"]],
  [
    "more weights than links",
    { link: [SMPP], route: [{ ...ROUTE, weights: [1, 2] }] },
    ["route 1: weights: must have one number for each link"],
  ],
  ["weights of nothing", { link: [SMPP], route: [{ ...ROUTE, weights: [0] }] }, ["route 1: weights: must not all be 0"]],
  ["a weight below nothing", { link: [SMPP], route: [{ ...ROUTE, weights: [-1] }] }, ["route 1: weights.0: must be at least 0"]],
  ["countries of an unknown environment", { allowed_countries: { prod: ["US"] } }, ["allowed_countries: prod: is not a known field"]],
  ["an allowed country that is a list of its own", { allowed_countries: { live: "US" } }, ["allowed_countries: live: must be an array"]],
];

describe("a fault", () => {
  for (const [what, tables, faults] of FAULTS) test(`${what} is the only reported fault`, () => assert.deepEqual(faultsOf(tables), faults));

  test("in a link is not reported again for its senders and routes", () => {
    const tables = { link: [{ ...SMPP, port: 0 }], sender: [SENDER], route: [ROUTE] };
    assert.deepEqual(faultsOf(tables), ["link acme: port: must be at least 1"]);
  });

  test("in every table is reported, all of them at once", () => {
    const faults = faultsOf({
      link: [
        { ...SMPP, port: 0, color: "red" },
        { name: "x", provider: "pigeon" },
        { ...TWILIO, auth_token_env: "ABSENT" },
      ],
      sender: [{ ...SENDER, link: "nope" }, { number: "??" }],
      route: [
        { channel: "fax", links: ["acme"] },
        { channel: "sms", links: ["gone"], weights: [1, 1] },
      ],
      allowed_countries: { live: ["usa"] },
    });
    assert.deepEqual(faults.toSorted(), [
      "allowed_countries: live.0: must be a country of two letters such as US",
      "link acme: color: is not a known field",
      "link acme: port: must be at least 1",
      "link backup: auth_token_env: the variable ABSENT is not set",
      "link x: provider: must be one of simulator, smpp, whatsapp, twilio, http",
      "route 1: channel: must be one of sms, whatsapp",
      "route 2: there is no link gone",
      "route 2: weights: must have one number for each link",
      "sender +14155550100: there is no link nope",
      "sender 2: account: is required",
      "sender 2: environment: is required",
      "sender 2: link: is required",
      "sender 2: number: must be an E.164 number, a short code, or a name of up to 11 characters",
    ]);
  });

  test("contains no secret, neither of a variable nor one that was written in place of its name", () => {
    const faults = faultsOf({
      link: [
        { ...SMPP, password_env: SECRET },
        { ...SMPP, name: "b", password: SECRET },
        { ...SMPP, name: "c", port: 0 },
      ],
    });
    assert.deepEqual(faults, [
      "link acme: password_env: must be the name of an environment variable",
      "link b: password: is not a known field; did you mean password_env?",
      "link c: port: must be at least 1",
    ]);
    assert.ok(!faults.join("").includes(SECRET));
  });
});

test("a route may end at the simulator, also in live", () => {
  assert.deepEqual(faultsOf({ link: [SMPP], route: [{ channel: "sms", links: ["acme", "simulator"] }] }), []);
});

test("one number may be on two links of one owner", () => {
  const { plan, faults } = read({ link: [SMPP, TWILIO], sender: [SENDER, { ...SENDER, link: "backup" }] });
  assert.deepEqual([faults, plan.senders.length], [[], 2]);
});

describe("a link without TLS", () => {
  const HTTP = { ...WHATSAPP, base_url: "http://graph.example" };
  const LINKS = [
    ["over SMPP", { ...SMPP, tls: false }, "tls: is off, and smpp.acme.example is on another machine; set tls = true"],
    ["of WhatsApp over http", HTTP, "base_url: is http:// on another machine; write https://"],
    ["of Twilio over http", { ...TWILIO, base_url: "http://[fd00::1]:80" }, "base_url: is http:// on another machine; write https://"],
    [
      "that Twilio calls over http",
      { ...TWILIO, public_url: "http://sms.example" },
      "public_url: is http:// on another machine; write https://",
    ],
  ] as const;
  for (const [what, link, setting] of LINKS)
    test(`${what} is refused unless allow_plaintext is true`, () => {
      const fault = `link ${link.name}: ${setting}, or allow_plaintext = true if the network in between is trusted`;
      assert.deepEqual(faultsOf({ link: [link] }), [fault]);
      assert.deepEqual(faultsOf({ link: [{ ...link, allow_plaintext: false }] }), [fault]);
      assert.deepEqual(faultsOf({ link: [{ ...link, allow_plaintext: true }] }), []);
    });

  test("may be on loopback", () => {
    for (const host of ["127.0.0.1", "localhost", "::1"]) assert.deepEqual(faultsOf({ link: [{ ...SMPP, tls: false, host }] }), []);
    for (const base_url of ["http://127.0.0.1:1", "http://localhost", "http://[::1]:1"])
      assert.deepEqual(faultsOf({ link: [{ ...WHATSAPP, base_url }] }), []);
  });
});

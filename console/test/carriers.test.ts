/** The carriers that the console offers match those of the service, and its forms become valid requests. */
import assert from "node:assert/strict";
import { test } from "node:test";
import type { Link, NewLink } from "godwit-sdk";
import { addressSet } from "../../src/lib/addresses.ts";
import { newId } from "../../src/model/id.ts";
import { CARRIERS as CARRIER_FILES } from "../../src/links/carrier-files.ts";
import { NewLinkBody, readCreatedLink, settingFaults, splitSecrets } from "../../src/links/link-definition.ts";
import { AddressGate } from "../../src/outbound/address-gate.ts";
import { draftOf, newDraft, pointerOf, toEditLink, toNewLink, type Draft } from "../src/carriers/carrier-draft.ts";
import { carrierOf, CARRIERS, type Carrier, type CarrierField } from "../src/carriers/carrier-fields.ts";

const ORIGIN = "https://godwit.example.com";
const gate = new AddressGate({ allow: addressSet([]), deny: addressSet([]) }, () => assert.fail("no name is looked up"));

/** A value that every field accepts. */
const EXAMPLES: Readonly<Record<string, string>> = {
  phone_number_id: "106540352242922",
  port: "2776",
  waba_id: "102290129340398",
  "values.base_url": "abc123.api.infobip.com",
  "values.host": "sms.example.com:1401",
  "secrets.public_key": Buffer.alloc(32).toString("base64"),
};
const fill = (carrier: Carrier, isFilled: (field: CarrierField) => boolean): Draft => {
  const draft = newDraft(carrier, ORIGIN);
  const filled = carrier.fields.filter((field) => field.kind !== "flag" && field.kind !== "origin");
  const values = filled.map((field): [string, string] => [field.name, isFilled(field) ? (EXAMPLES[field.name] ?? "example") : ""]);
  return { ...draft, values: { ...draft.values, ...Object.fromEntries(values) } };
};

/** The pointers of the faults that the service finds in a request. */
function pointers(body: NewLink): string[] {
  const { name: _, settings, ...rest } = body;
  const { plain, secrets } = splitSecrets(body.provider, settings);
  const created = { account_id: newId("acct", 0), id: newId("lnk", 0), definition: { ...rest, settings: plain }, secrets };
  const read = readCreatedLink(created, gate);
  const faults = [...settingFaults(body), ...("faults" in read ? read.faults : [])];
  return [...new Set(faults.map((fault) => ("pointer" in fault ? fault.pointer : "")))].toSorted();
}

test("every provider and every shipped carrier is offered", () => {
  const { provider } = NewLinkBody.properties as unknown as { provider: { enum: string[] } };
  assert.deepEqual(
    CARRIERS.map(({ id }) => id).toSorted(),
    [...provider.enum.filter((each) => each !== "http"), ...CARRIER_FILES].toSorted(),
  );
});

for (const carrier of CARRIERS) {
  test(`the fields of ${carrier.title} are settings of its provider, and include every required one`, () => {
    assert.deepEqual(
      pointers(
        toNewLink(
          carrier,
          fill(carrier, () => true),
        ),
      ),
      [],
    );
    assert.deepEqual(
      pointers(
        toNewLink(
          carrier,
          fill(carrier, ({ isOptional }) => isOptional !== true),
        ),
      ),
      [],
    );
  });

  test(`the faults of ${carrier.title} point to its required fields`, () => {
    const required = carrier.fields.filter(({ kind, isOptional }) => isOptional !== true && kind !== "flag" && kind !== "origin");
    for (const { name } of required) {
      const found = pointers(
        toNewLink(
          carrier,
          fill(carrier, (field) => field.name !== name),
        ),
      );
      assert.deepEqual(found, [pointerOf(name)], name);
    }
  });
}

const linkOf = (body: NewLink, fields: Partial<Link> = {}): Link =>
  ({
    name: body.name,
    provider: body.provider,
    carrier: body.carrier ?? null,
    country: null,
    sender: null,
    rate: 10,
    window: 20,
    ...fields,
    settings: splitSecrets(body.provider, body.settings).plain,
  }) as Link;

test("a form that is saved without a change removes nothing and replaces no secret", () => {
  for (const carrier of CARRIERS) {
    const draft = {
      ...fill(carrier, () => true),
      extras: carrier.isHttp ? [] : [{ key: 0, name: "base_url", value: "https://example.com" }],
    };
    const link = linkOf(toNewLink(carrier, draft));
    assert.equal(carrierOf(link), carrier);
    const { settings, rate, window } = toEditLink(carrier, draftOf(carrier, link), link);
    assert.deepEqual([settings, rate, window], [link.settings, undefined, undefined], carrier.id);
  }
});

test("a change names what is changed, null for what is removed, and the secrets that are given", () => {
  const carrier = CARRIERS.find(({ id }) => id === "smpp") ?? assert.fail();
  const draft = fill(carrier, () => true);
  const extras = [
    { key: 1, name: "enquire_seconds", value: "10" },
    { key: 2, name: "dlt_entity_id", value: '"123"' },
  ];
  const link = linkOf(toNewLink(carrier, { ...draft, extras }), { country: "DE" });
  const shown = draftOf(carrier, link);
  assert.deepEqual(
    shown.extras.map(({ name, value }) => ({ name, value })),
    extras.map(({ name, value }) => ({ name, value })),
  );
  const changed = {
    ...shown,
    country: "",
    rate: "",
    window: "5",
    extras: shown.extras.slice(1),
    values: { ...shown.values, password: " new ", system_type: "" },
  };
  assert.deepEqual(toEditLink(carrier, changed, link), {
    name: "SMPP",
    country: null,
    sender: null,
    rate: null,
    window: 5,
    settings: {
      host: "example",
      port: 2_776,
      tls: true,
      system_id: "example",
      password: "new",
      dlt_entity_id: "123",
      system_type: null,
      enquire_seconds: null,
    },
  });
});

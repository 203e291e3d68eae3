import assert from "node:assert/strict";
import { test } from "node:test";
import { addressSet } from "../lib/addresses.ts";
import { newId } from "../model/id.ts";
import { readCreatedLink, type LinkDefinition, type LinkSecrets } from "./link-definition.ts";
import { AddressGate } from "../outbound/address-gate.ts";

const gate = new AddressGate({ allow: addressSet([]), deny: addressSet([]) }, () => assert.fail("no name is looked up"));

/** The pointers of the faults in an HTTP carrier's link. */
function pointers(carrier: "aws" | "telnyx", settings: Record<string, unknown>, secrets: LinkSecrets): string[] {
  const definition: LinkDefinition = { provider: "http", carrier, settings };
  const read = readCreatedLink({ account_id: newId("acct", 0), id: newId("lnk", 0), definition, secrets }, gate);
  return "faults" in read ? read.faults.map((fault) => ("pointer" in fault ? fault.pointer : "")) : [];
}

test("a fault in the definition of an HTTP carrier points to the value or secret that causes it", () => {
  const ofAws = { access_key_id: "a", secret_access_key: "b", callback_user: "c", callback_password: "d" };
  assert.deepEqual(pointers("aws", {}, ofAws), ["/settings/values/region"], "once, though several templates have it");
  assert.deepEqual(pointers("aws", { values: { region: "eu-central-1" } }, ofAws), []);
  const publicKey = Buffer.alloc(32).toString("base64");
  assert.deepEqual(pointers("telnyx", {}, { api_key: "a", public_key: publicKey }), ["/settings/public_url"]);
  const settings = { public_url: "https://godwit.example.com" };
  assert.deepEqual(pointers("telnyx", settings, { api_key: "a", public_key: "short" }), ["/settings/secrets/public_key"]);
  assert.deepEqual(pointers("telnyx", settings, { public_key: publicKey }), ["/settings/secrets/api_key"]);
});

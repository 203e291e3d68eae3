import assert from "node:assert/strict";
import { test } from "node:test";
import { findAddressFault, isPlaintextUsed, needsVerifiedTls } from "./database-address.ts";

const LOCAL = [
  "postgres://godwit@127.0.0.1/godwit",
  "postgres://godwit@127.8.9.1:5433/godwit?sslmode=disable",
  "postgres://godwit@[::1]/godwit",
  "postgres://godwit@localhost/godwit?sslmode=no-verify",
  "postgres://godwit@/godwit?host=%2Fvar%2Frun%2Fpostgresql",
  "postgres://godwit@%2Fvar%2Frun%2Fpostgresql/godwit",
];
for (const url of LOCAL)
  test(`${url} is local and needs no TLS`, () => {
    assert.equal(findAddressFault({ url }), undefined);
    assert.equal(needsVerifiedTls({ url }), false);
    assert.equal(isPlaintextUsed({ url, isPlaintextAllowed: true }), false);
  });

const REMOTE = [
  "postgres://godwit:secret@db.example.com/godwit",
  "postgres://godwit:secret@db.example.com/godwit?sslmode=verify-full",
  "postgres://godwit:secret@10.0.0.4/godwit?ssl=true",
  "postgres://godwit:secret@[fd00::4]/godwit",
  "postgres://godwit:secret@127.0.0.1/godwit?host=db.example.com",
  "postgres://godwit:secret@localhost.example.com/godwit",
];
for (const url of REMOTE)
  test(`${url} is remote and needs a verified certificate`, () => {
    assert.equal(findAddressFault({ url }), undefined);
    assert.equal(needsVerifiedTls({ url }), true);
    assert.equal(needsVerifiedTls({ url, isPlaintextAllowed: true }), false);
    assert.equal(isPlaintextUsed({ url, isPlaintextAllowed: true }), true);
  });

for (const weak of [
  "sslmode=require",
  "sslmode=prefer",
  "sslmode=allow",
  "sslmode=disable",
  "sslmode=no-verify",
  "sslmode=verify-ca",
  "ssl=0",
])
  for (const more of ["", "&uselibpqcompat=true", "&sslmode=verify-full"])
    test(`${weak}${more} for a remote server is refused, unless plain text is allowed`, () => {
      const url = `postgres://godwit:secret@db.example.com/godwit?application_name=x&${weak}${more}`;
      assert.equal(
        findAddressFault({ url }),
        `${weak} does not verify the certificate of db.example.com: write sslmode=verify-full, ` +
          "or set GODWIT_DATABASE_PLAINTEXT=allow if the network in between is trusted",
      );
      assert.equal(findAddressFault({ url, isPlaintextAllowed: true }), undefined);
    });

test("a URL that cannot be read is refused without its password", () => {
  for (const url of ["postgres://godwit:secret@db.example.com:port/x", "postgres://godwit:secret@db.example.com/x?sslrootcert=/none"]) {
    const fault = findAddressFault({ url }) ?? "";
    assert.match(fault, /^cannot be read: /);
    assert.ok(!fault.includes("secret"), fault);
  }
});

/** The addresses that customers supply: only those are called that were checked when the connection was opened. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { addressSet, type AddressSet } from "../lib/addresses.ts";
import { answer, assertAnswered, assertFailed, LOOPBACK, NO_ADDRESSES, OK, Receiver, Sender } from "../../test/support/http-receiver.ts";
import { AddressGate } from "./address-gate.ts";
import { createResolve, type Resolve } from "./resolve.ts";

const NAME = "hooks.example.test";
// No receiver of these tests is there: a call to this address fails.
const PUBLIC = "8.8.4.4";
const CLOSING = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 2\r\n\r\nok";

/** Resolves each call with the next list, and further calls with the last list. */
function resolveBy(...lists: readonly (readonly string[])[]): Resolve & { asked: string[] } {
  const asked: string[] = [];
  return Object.assign(async (name: string) => lists[Math.min(asked.push(name), lists.length) - 1] ?? [], { asked });
}

describe("a name with an address that is not public", () => {
  const KINDS: readonly string[][] = [
    ["127.0.0.1"],
    ["127.255.255.254"],
    ["0.0.0.0"],
    ["10.0.0.1"],
    ["100.64.0.1"],
    ["169.254.169.254"],
    ["172.16.0.1"],
    ["192.0.0.1"],
    ["192.0.2.1"],
    ["192.88.99.1"],
    ["192.168.1.1"],
    ["198.18.0.1"],
    ["198.51.100.1"],
    ["203.0.113.1"],
    ["224.0.0.1"],
    ["255.255.255.255"],
    ["::"],
    ["::1"],
    ["fe80::1"],
    ["fe80::1%lo"],
    ["fd00::1"],
    ["fec0::1"],
    ["ff02::1"],
    ["2001:db8::1"],
    ["::ffff:127.0.0.1"],
    ["::ffff:7f00:1"],
    ["::127.0.0.1"],
    ["::ffff:0:127.0.0.1"],
    ["64:ff9b::7f00:1"],
    ["2002:7f00:1::1"],
    ["2001:0:808:404:8000:63bf:80ff:fffe"],
    ["127.0.0.1", "::1", "10.0.0.1"],
    // Invalid results of a resolver.
    ["localhost"],
    [""],
  ];
  for (const addresses of KINDS) {
    test(`is not called: ${addresses.join(", ")}`, async () => {
      await using receiver = await Receiver.listen(answer(OK));
      await using sender = new Sender({ allow: NO_ADDRESSES, resolve: resolveBy(addresses) });
      for (const scheme of ["https", "http"]) {
        const cause = assertFailed(await sender.post(receiver.url(NAME, scheme)), "address_not_allowed");
        assert.ok(cause.startsWith(`ADDRESS_NOT_ALLOWED: ${NAME} is at ${addresses[0]}`), cause);
      }
      assert.equal(receiver.connections, 0);
    });
  }

  test("is called when the operator allows the address, in every notation", async () => {
    await using receiver = await Receiver.listen(answer(OK));
    for (const address of ["127.0.0.1", "::ffff:127.0.0.1", "::ffff:7f00:1"]) {
      await using sender = new Sender({ resolve: resolveBy([address]) });
      assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
    }
  });
});

test("a name without an address fails like one with a private address", async () => {
  for (const addresses of [[], ["10.0.0.1"]]) {
    await using sender = new Sender({ resolve: resolveBy(addresses) });
    assertFailed(await sender.post(`http://${NAME}/`), "address_not_allowed");
  }
});

test("an address that the operator denies is not called, although it is public or allowed", async () => {
  // A NAT64 prefix of the operator's own network: its addresses lead to private ones.
  const prefix = addressSet([{ address: "2001:67c:2e8::", bits: 96 }]);
  await using sender = new Sender({ deny: prefix, resolve: resolveBy(["2001:67c:2e8::7f00:1"]) });
  assertFailed(await sender.post(`https://${NAME}/`), "address_not_allowed");
  assert.equal(
    new AddressGate({ allow: NO_ADDRESSES, deny: prefix }).urlRefusal(new URL("https://[2001:67c:2e8::7f00:1]/")),
    "names an address that is not on the public internet",
  );
  await using receiver = await Receiver.listen(answer(OK));
  await using other = new Sender({ deny: LOOPBACK });
  assertFailed(await other.post(receiver.url("127.0.0.1")), "address_not_allowed");
});

test("a lookup that throws: connection_failed", async () => {
  await using sender = new Sender({ resolve: () => Promise.reject(new Error("no")) });
  assertFailed(await sender.post(`http://${NAME}/`), "connection_failed");
});

test("of several addresses only the allowed ones are called", async () => {
  const called: (string | undefined)[] = [];
  await using receiver = await Receiver.listen((socket, number) => {
    called.push(socket.localAddress?.replace("::ffff:", ""));
    answer(OK)(socket, number);
  });
  const allow = addressSet([{ address: "127.0.0.1", bits: 32 }]);
  // The receiver listens at these addresses as well.
  const others = ["127.0.0.2", "0.0.0.0", "127.3.2.1", "::1", "::"];
  await using sender = new Sender({ allow, resolve: resolveBy([...others, "127.0.0.1", ...others]) });
  assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
  assert.deepEqual(called, ["127.0.0.1"]);
});

test("the next address is called when one refuses the connection", async () => {
  await using receiver = await Receiver.listen(answer(OK), { host: "127.0.0.1" });
  const allow = addressSet([
    { address: "127.0.0.0", bits: 8 },
    { address: "::1", bits: 128 },
  ]);
  await using sender = new Sender({ allow, resolve: resolveBy(["::1", "127.0.0.1"]) });
  assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
});

describe("a name that changes its address", () => {
  for (const later of ["10.0.0.1", "169.254.169.254", "::1", "::ffff:10.0.0.1"]) {
    test(`to ${later} is checked again for the next connection`, async () => {
      await using receiver = await Receiver.listen(answer(CLOSING));
      const resolve = resolveBy(["127.0.0.1"], [later]);
      await using sender = new Sender({ resolve });
      assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
      for (let time = 0; time < 2; time += 1) assertFailed(await sender.post(receiver.url(NAME)), "address_not_allowed");
      assert.equal(receiver.connections, 1);
      assert.deepEqual(resolve.asked, [NAME, NAME, NAME]);
    });
  }

  test("between the check and the connection is looked up only once", async () => {
    await using receiver = await Receiver.listen(answer(CLOSING));
    const resolve = resolveBy(["127.0.0.1"], ["10.0.0.1"]);
    await using sender = new Sender({ resolve });
    assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
    assert.deepEqual(resolve.asked, [NAME]);
  });

  test("is still called on the connection that was checked", async () => {
    await using receiver = await Receiver.listen(answer(OK));
    const resolve = resolveBy(["127.0.0.1"], ["10.0.0.1"]);
    await using sender = new Sender({ resolve });
    assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
    await new Promise(setImmediate);
    assertAnswered(await sender.post(receiver.url(NAME)), 200, "ok");
    assert.deepEqual(resolve.asked, [NAME]);
  });
});

describe("an address in the URL", () => {
  const HOSTS = [
    "127.0.0.1",
    "127.0.0.1.",
    "127.1",
    "127.0.1",
    "0x7f000001",
    "0x7f.1",
    "0x7F.0x0.0x0.0x1",
    "2130706433",
    "017700000001",
    "0177.0.0.1",
    "127.0.0.0x1",
    "%31%32%37.0.0.1",
    "１２７.0.0.1",
    "127。0。0。1",
    "0",
    "0.0.0.0",
    "[::1]",
    "[0:0:0:0:0:0:0:1]",
    "[::]",
    "[::ffff:7f00:1]",
    "[::ffff:127.0.0.1]",
    "[::FFFF:127.0.0.1]",
    "[::7f00:1]",
    "[64:ff9b::127.0.0.1]",
    "[2002:7f00:1::]",
    "169.254.169.254",
    "2852039166",
    "[fe80::1]",
    "[fd00::1]",
  ];
  for (const host of HOSTS) {
    test(`is checked without a lookup: ${host}`, async () => {
      await using receiver = await Receiver.listen(answer(OK));
      const resolve = resolveBy([PUBLIC]);
      await using sender = new Sender({ allow: NO_ADDRESSES, resolve });
      for (const scheme of ["https", "http"]) {
        assertFailed(await sender.post(receiver.url(host, scheme)), "address_not_allowed");
        assert.equal(
          new AddressGate({ allow: NO_ADDRESSES, deny: NO_ADDRESSES }).urlRefusal(receiver.url(host, scheme)),
          "names an address that is not on the public internet",
        );
      }
      assert.deepEqual(resolve.asked, []);
      assert.equal(receiver.connections, 0);
    });
  }

  for (const host of ["localhost.", "localhost", "LOCALHOST", "127.0.0.1.nip.test"]) {
    test(`that is a name is looked up and its address is checked: ${host}`, async () => {
      await using receiver = await Receiver.listen(answer(OK));
      const resolve = resolveBy(["127.0.0.1"]);
      await using sender = new Sender({ allow: NO_ADDRESSES, resolve });
      assertFailed(await sender.post(receiver.url(host, "https")), "address_not_allowed");
      assert.deepEqual(resolve.asked, [host.toLowerCase()]);
      assert.equal(receiver.connections, 0);
    });
  }

  for (const host of ["127.0.0.1", "127.1", "0x7f000001", "2130706433", "[::ffff:7f00:1]"]) {
    test(`is called when the operator allows it: ${host}`, async () => {
      await using receiver = await Receiver.listen(answer(OK));
      await using sender = new Sender();
      assertAnswered(await sender.post(receiver.url(host)), 200, "ok");
    });
  }
});

describe("without TLS", () => {
  const ROWS: readonly (readonly [sentence: string, url: string, addresses: readonly string[]])[] = [
    ["a name with a public address", `http://${NAME}/`, [PUBLIC]],
    ["a name with a public IPv6 address", `http://${NAME}/`, ["2001:4860:4860::8844"]],
    ["a public address", `http://${PUBLIC}/`, []],
    ["a public IPv6 address", "http://[2001:4860:4860::8844]/", []],
  ];
  for (const [sentence, url, addresses] of ROWS) {
    test(`${sentence} is not called, although other addresses are allowed`, async () => {
      await using sender = new Sender({ resolve: resolveBy(addresses) });
      assertFailed(await sender.post(url), "address_not_allowed");
    });
  }
});

describe("a URL", () => {
  const PRIVATE = "names an address that is not on the public internet";
  const HTTPS = "must be https";
  const ROWS: readonly (readonly [url: string, allow: AddressSet, refusal: string | undefined])[] = [
    ["https://example.com/hook", NO_ADDRESSES, undefined],
    ["https://example.com:8443/hook?a=1", NO_ADDRESSES, undefined],
    [`https://${PUBLIC}/`, NO_ADDRESSES, undefined],
    ["https://[2001:4860:4860::8844]/", NO_ADDRESSES, undefined],
    ["http://example.com/", NO_ADDRESSES, HTTPS],
    [`http://${PUBLIC}/`, NO_ADDRESSES, HTTPS],
    ["http://[2001:4860:4860::8844]/", NO_ADDRESSES, HTTPS],
    ["http://10.0.0.1/", NO_ADDRESSES, PRIVATE],
    ["https://10.0.0.1/", NO_ADDRESSES, PRIVATE],
    ["https://[::1]/", NO_ADDRESSES, PRIVATE],
    // The address of any other name is checked when the name is called.
    ["https://localhost/", NO_ADDRESSES, PRIVATE],
    ["http://LOCALHOST./", NO_ADDRESSES, PRIVATE],
    ["https://app.localhost/", NO_ADDRESSES, PRIVATE],
    ["https://localhost.example.com/", NO_ADDRESSES, undefined],
    // Where addresses are allowed, that of the name is checked when it is called: it may be any of the loopback ones.
    ["http://localhost/", LOOPBACK, undefined],
    ["http://example.com/", LOOPBACK, undefined],
    ["http://127.0.0.1/", LOOPBACK, undefined],
    ["https://127.0.0.1/", LOOPBACK, undefined],
    ["http://[::ffff:127.0.0.1]/", LOOPBACK, undefined],
    ["http://[::1]/", LOOPBACK, PRIVATE],
    ["http://10.0.0.1/", LOOPBACK, PRIVATE],
    [`http://${PUBLIC}/`, LOOPBACK, HTTPS],
    [`https://${PUBLIC}/`, LOOPBACK, undefined],
  ];
  for (const [url, allow, refusal] of ROWS) {
    const whose = allow.isEmpty ? "" : ", where loopback is allowed,";
    test(`${url}${whose} ${refusal ?? "may be called"}`, () =>
      assert.equal(new AddressGate({ allow, deny: NO_ADDRESSES }).urlRefusal(new URL(url)), refusal));
  }
});

test("localhost is called when loopback is allowed and not otherwise", async () => {
  await using receiver = await Receiver.listen(answer(OK));
  const resolve = createResolve();
  await using allowed = new Sender({ resolve, timeoutMs: 5_000 });
  assertAnswered(await allowed.post(receiver.url("localhost")), 200, "ok");
  await using strict = new Sender({ allow: NO_ADDRESSES, resolve, timeoutMs: 5_000 });
  assertFailed(await strict.post(receiver.url("localhost", "https")), "address_not_allowed");
  assert.equal(receiver.connections, 1);
});

import assert from "node:assert/strict";
import { test } from "node:test";
import { addressSet, isLoopback, parseCidr, peerOf, type CidrBlock } from "./addresses.ts";

const PARSED: readonly (readonly [text: string, block: CidrBlock | undefined])[] = [
  ["10.0.0.0/8", { address: "10.0.0.0", bits: 8 }],
  ["10.1.2.3", { address: "10.1.2.3", bits: 32 }],
  [" 10.1.2.3/32 ", { address: "10.1.2.3", bits: 32 }],
  ["0.0.0.0/0", { address: "0.0.0.0", bits: 0 }],
  ["fd00::/8", { address: "fd00::", bits: 8 }],
  ["::1", { address: "::1", bits: 128 }],
  ["::/0", { address: "::", bits: 0 }],
  ["10.0.0.0/33", undefined],
  ["fd00::/129", undefined],
  ["10.0.0.0/", undefined],
  ["10.0.0.0/-1", undefined],
  ["10.0.0.0/8/8", undefined],
  ["10.0.0.0/1e1", undefined],
  ["10.0.0.0/0x8", undefined],
  ["10.0.0.0/08", undefined],
  ["10.0.0.0/00", undefined],
  ["fe80::1%eth0", undefined],
  ["fe80::1%eth0/64", undefined],
  ["10.0.0/8", undefined],
  ["10.0.0.256", undefined],
  ["proxy.example.com", undefined],
  ["/8", undefined],
  ["", undefined],
];

for (const [text, block] of PARSED) {
  test(`"${text}" is ${block === undefined ? "no block of addresses" : `${block.bits} bits of ${block.address}`}`, () =>
    assert.deepEqual(parseCidr(text), block));
}

const set = addressSet([
  { address: "10.0.0.0", bits: 8 },
  { address: "192.0.2.7", bits: 32 },
  { address: "fd00::", bits: 8 },
]);

const MEMBERS: readonly (readonly [address: string, isMember: boolean])[] = [
  ["10.0.0.0", true],
  ["10.255.255.255", true],
  ["11.0.0.0", false],
  ["192.0.2.7", true],
  ["192.0.2.8", false],
  ["fd12::3", true],
  ["fe80::1", false],
  ["fe80::1%eth0", false],
  ["::ffff:10.1.2.3", true],
  ["::ffff:11.1.2.3", false],
  ["not an address", false],
  ["", false],
];

for (const [address, isMember] of MEMBERS) {
  test(`"${address}" is ${isMember ? "in" : "not in"} the set`, () => assert.equal(set.has(address), isMember));
}

test("a set without blocks is empty and contains no address", () => {
  const empty = addressSet([]);
  assert.equal(empty.isEmpty, true);
  assert.equal(empty.has("127.0.0.1"), false);
  assert.equal(set.isEmpty, false);
});

const HOSTS: readonly (readonly [host: string, is: boolean])[] = [
  ["127.0.0.1", true],
  ["127.255.0.9", true],
  ["::1", true],
  ["::ffff:127.0.0.1", true],
  ["localhost", true],
  ["0.0.0.0", false],
  ["::", false],
  ["128.0.0.1", false],
  ["localhost.example.com", false],
  ["", false],
];

for (const [host, is] of HOSTS) {
  test(`"${host}" is ${is ? "" : "not "}loopback`, () => assert.equal(isLoopback(host), is));
}

const PEERS: readonly (readonly [address: string, peer: string])[] = [
  ["192.0.2.7", "192.0.2.7"],
  ["::ffff:192.0.2.7", "192.0.2.7"],
  ["::FFFF:c000:207", "192.0.2.7"],
  ["0:0:0:0:0:ffff:192.0.2.7", "192.0.2.7"],
  ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
  ["2001:0DB8:0001:0002::1", "2001:db8:1:2::/64"],
  ["2001:db8::1", "2001:db8:0:0::/64"],
  ["2001:db8:0:1::", "2001:db8:0:1::/64"],
  ["::1", "0:0:0:0::/64"],
  ["::", "0:0:0:0::/64"],
  ["64:ff9b::192.0.2.7", "64:ff9b:0:0::/64"],
  ["fe80::1%eth0", "fe80:0:0:0::/64"],
  ["not an address", "not an address"],
  ["", ""],
];

for (const [address, peer] of PEERS) {
  test(`the peer of "${address}" is "${peer}"`, () => assert.equal(peerOf(address), peer));
}

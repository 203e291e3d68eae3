import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { isPublicAddress } from "./public-address.ts";

/** Ranges that are not public: the first and the last address, and public neighbors, if there are any. */
const RANGES: readonly (readonly [range: string, first: string, last: string, ...neighbors: string[]])[] = [
  ["0/8", "0.0.0.0", "0.255.255.255", "1.0.0.0"],
  ["10/8", "10.0.0.0", "10.255.255.255", "9.255.255.255", "11.0.0.0"],
  ["100.64/10", "100.64.0.0", "100.127.255.255", "100.63.255.255", "100.128.0.0"],
  ["127/8", "127.0.0.0", "127.255.255.255", "126.255.255.255", "128.0.0.0"],
  ["169.254/16", "169.254.0.0", "169.254.255.255", "169.253.255.255", "169.255.0.0"],
  ["172.16/12", "172.16.0.0", "172.31.255.255", "172.15.255.255", "172.32.0.0"],
  ["192.0.0/24", "192.0.0.0", "192.0.0.255", "191.255.255.255", "192.0.1.0"],
  ["192.0.2/24", "192.0.2.0", "192.0.2.255", "192.0.1.255", "192.0.3.0"],
  ["192.88.99/24", "192.88.99.0", "192.88.99.255", "192.88.98.255", "192.88.100.0"],
  ["192.168/16", "192.168.0.0", "192.168.255.255", "192.167.255.255", "192.169.0.0"],
  ["198.18/15", "198.18.0.0", "198.19.255.255", "198.17.255.255", "198.20.0.0"],
  ["198.51.100/24", "198.51.100.0", "198.51.100.255", "198.51.99.255", "198.51.101.0"],
  ["203.0.113/24", "203.0.113.0", "203.0.113.255", "203.0.112.255", "203.0.114.0"],
  ["224/4", "224.0.0.0", "239.255.255.255", "223.255.255.255"],
  ["240/4", "240.0.0.0", "255.255.255.255"],
  // Most of these have no public neighbors.
  ["::/128", "::", "0:0:0:0:0:0:0:0"],
  ["::1/128", "::1", "0:0:0:0:0:0:0:1"],
  ["fe80::/10", "fe80::", "febf:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fc00::/7", "fc00::", "fdff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["fec0::/10", "fec0::", "feff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["ff00::/8", "ff00::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:db8::/32", "2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db7:ffff:ffff:ffff:ffff:ffff:ffff", "2001:db9::"],
  ["2001:2::/48", "2001:2::", "2001:2:0:ffff:ffff:ffff:ffff:ffff", "2001:2:1::"],
  ["2001:10::/28", "2001:10::", "2001:1f:ffff:ffff:ffff:ffff:ffff:ffff", "2001:f:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:20::/28", "2001:20::", "2001:2f:ffff:ffff:ffff:ffff:ffff:ffff", "2001:30::"],
  ["3fff::/20", "3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff", "3ffe:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:1000::"],
  ["the range below 2000::/3", "100::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "2000::"],
  ["the range above 2000::/3", "4000::", "fbff:ffff:ffff:ffff:ffff:ffff:ffff:ffff", "3fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
];

for (const [range, first, last, ...neighbors] of RANGES) {
  test(`${range} is not public, and its neighbors are`, () => {
    for (const address of [first, last]) assert.equal(isPublicAddress(address), false, address);
    for (const address of neighbors) assert.equal(isPublicAddress(address), true, address);
  });
}

type Octets = readonly [number, number, number, number];
const pair = (high: number, low: number): string => ((high << 8) | low).toString(16);
const hex = ([a, b, c, d]: Octets): string => `${pair(a, b)}:${pair(c, d)}`;
const inverted = ([a, b, c, d]: Octets): Octets => [a ^ 0xff, b ^ 0xff, c ^ 0xff, d ^ 0xff];
const PUBLIC: Octets = [8, 8, 4, 4];

/** The forms of an IPv4 address inside an IPv6 address. */
const FORMS: readonly (readonly [form: string, wrap: (octets: Octets) => string])[] = [
  ["ISATAP", (octets) => `2400:cb00::5efe:${hex(octets)}`],
  ["ISATAP, of a public address", (octets) => `2400:cb00::200:5efe:${hex(octets)}`],
  ["mapped, with dots", (octets) => `::ffff:${octets.join(".")}`],
  ["mapped, in hex", (octets) => `::ffff:${hex(octets)}`],
  ["mapped, written out", (octets) => `0:0:0:0:0:ffff:${hex(octets)}`],
  ["compatible, with dots", (octets) => `::${octets.join(".")}`],
  ["compatible, in hex", (octets) => `::${hex(octets)}`],
  ["translated, with dots", (octets) => `::ffff:0:${octets.join(".")}`],
  ["translated, in hex", (octets) => `::ffff:0:${hex(octets)}`],
  ["NAT64, with dots", (octets) => `64:ff9b::${octets.join(".")}`],
  ["NAT64, in hex", (octets) => `64:ff9b::${hex(octets)}`],
  ["6to4", (octets) => `2002:${hex(octets)}::1`],
  ["6to4 with a network and a host", (octets) => `2002:${hex(octets)}:7:808:808:808:808`],
  ["Teredo client", (octets) => `2001:0:${hex(PUBLIC)}:8000:63bf:${hex(inverted(octets))}`],
  ["Teredo server", (octets) => `2001:0:${hex(octets)}:8000:63bf:${hex(inverted(PUBLIC))}`],
];

const WRAPPED: readonly (readonly [octets: Octets, isPublic: boolean])[] = [
  [[127, 0, 0, 1], false],
  [[10, 1, 2, 3], false],
  [[169, 254, 169, 254], false],
  [[172, 31, 255, 255], false],
  [[192, 168, 1, 1], false],
  [[0, 0, 0, 0], false],
  [[255, 255, 255, 255], false],
  [PUBLIC, true],
  [[172, 32, 0, 0], true],
];

describe("an IPv4 address inside an IPv6 address is checked as IPv4", () => {
  for (const [form, wrap] of FORMS) {
    test(form, () => {
      for (const [octets, isPublic] of WRAPPED) {
        for (const address of [wrap(octets), wrap(octets).toUpperCase()]) assert.equal(isPublicAddress(address), isPublic, address);
      }
    });
  }
});

const OTHERS: readonly (readonly [address: string, isPublic: boolean])[] = [
  ["1.1.1.1", true],
  ["2606:4700:4700::1111", true],
  ["2606:4700:4700:0:0:0:0:1111", true],
  ["2A00:1450:4001:82A::200E", true],
  ["FE80::1", false],
  ["FD12:3456::1", false],
  ["::FFFF:7F00:1", false],
  // A zone names the interface and changes nothing else.
  ["fe80::1%eth0", false],
  ["::1%lo", false],
  ["::ffff:127.0.0.1%1", false],
  ["127.0.0.1%lo", false],
  ["1.1.1.1%eth0", false],
  // A NAT64 of a private network, and addresses that only resemble a wrapper.
  ["64:ff9b:1::808:404", false],
  ["64:ff9b::1:808:404", false],
  ["::1:ffff:8.8.4.4", false],
  // Not addresses.
  ["", false],
  ["localhost", false],
  ["example.com", false],
  ["127.1", false],
  ["2130706433", false],
  ["0x7f000001", false],
  ["0177.0.0.1", false],
  ["8.8.8", false],
  ["8.8.8.8.8", false],
  ["8.8.8.256", false],
  ["8.8.8.8/32", false],
  [" 8.8.8.8", false],
  ["8.8.8.8\0", false],
  ["[2606:4700:4700::1111]", false],
  ["2606::4700::1111", false],
  ["2606:4700:4700:0:0:0:0:0:1111", false],
  ["%eth0", false],
];

for (const [address, isPublic] of OTHERS) {
  test(`${JSON.stringify(address)} is ${isPublic ? "" : "not "}public`, () => assert.equal(isPublicAddress(address), isPublic));
}

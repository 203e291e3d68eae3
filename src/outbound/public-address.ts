/** Decides whether an IP address belongs to the public internet. This machine, private networks, cloud metadata, documentation and
 *  multicast do not, in any notation: an IPv4 address inside an IPv6 address is checked as IPv4. */
import { isIPv4, isIPv6 } from "node:net";
import { addressSet, groupsOf, ipv4Of, type AddressSet } from "../lib/addresses.ts";

const setOf = (...ranges: readonly `${string}/${number}`[]): AddressSet =>
  addressSet(ranges.map((range) => range.split("/")).map(([address = "", bits]) => ({ address, bits: Number(bits) })));

const NOT_PUBLIC_IPV4 = setOf(
  "0.0.0.0/8",
  "10.0.0.0/8",
  "100.64.0.0/10",
  "127.0.0.0/8",
  "169.254.0.0/16",
  "172.16.0.0/12",
  "192.0.0.0/24",
  "192.0.2.0/24",
  "192.88.99.0/24",
  "192.168.0.0/16",
  "198.18.0.0/15",
  "198.51.100.0/24",
  "203.0.113.0/24",
  "224.0.0.0/4",
  "240.0.0.0/4",
);

// Global unicast addresses start with these bits. All others are refused: loopback, link-local, unique local, site-local, multicast and
// unassigned ranges.
const GLOBAL_IPV6 = setOf("2000::/3");

// Benchmarks, identifiers, documentation.
const NOT_PUBLIC_IPV6 = setOf("2001:2::/48", "2001:10::/28", "2001:20::/28", "2001:db8::/32", "3fff::/20");

// Compatible (with `::` and `::1`, whose tails are in 0.0.0.0/8), mapped, translated, NAT64: the first six groups before an IPv4 address.
const IPV4_PREFIXES: ReadonlySet<string> = new Set(["0:0:0:0:0:0", "0:0:0:0:0:ffff", "0:0:0:0:ffff:0", "64:ff9b:0:0:0:0"]);

/** False also for a text that is not an address. */
export function isPublicAddress(address: string): boolean {
  return isIPv4(address) ? isPublicIPv4(address) : isIPv6(address) && isPublicIPv6(groupsOf(address));
}

const isPublicIPv4 = (address: string): boolean => !NOT_PUBLIC_IPV4.has(address);

function isPublicIPv6(groups: readonly number[]): boolean {
  const [first = 0, second = 0, third = 0, fourth = 0, fifth = 0, sixth = 0, seventh = 0, eighth = 0] = groups;
  const isLastPublic = isPublicIPv4(ipv4Of(seventh, eighth));
  // ISATAP (RFC 5214): any prefix, then an interface identifier with this mark and an IPv4 address.
  if ((fifth & 0xfdff) === 0 && sixth === 0x5efe && !isLastPublic) return false;
  const text = groups.map((group) => group.toString(16));
  if (IPV4_PREFIXES.has(text.slice(0, 6).join(":"))) return isLastPublic;
  if (first === 0x2002) return isPublicIPv4(ipv4Of(second, third));
  // Teredo: the server, and the client with inverted bits.
  if (first === 0x2001 && second === 0)
    return isPublicIPv4(ipv4Of(third, fourth)) && isPublicIPv4(ipv4Of(seventh ^ 0xffff, eighth ^ 0xffff));
  return GLOBAL_IPV6.has(text.join(":")) && !NOT_PUBLIC_IPV6.has(text.join(":"));
}

/** Decides whether an IP address belongs to the public internet. This machine, private networks, cloud metadata, documentation and
 *  multicast do not, in any notation: addresses are compared as bits, and an IPv4 address inside an IPv6 address is checked as IPv4. */
import { isIPv4, isIPv6 } from "node:net";

type Bytes = readonly number[];
type Range = { bytes: Bytes; bits: number };

function range(text: string): Range {
  const [address = "", bits = ""] = text.split("/");
  return { bytes: isIPv4(address) ? bytesOfIPv4(address) : bytesOfIPv6(address), bits: Number(bits) };
}

const NOT_PUBLIC_IPV4 = [
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
].map(range);

// Global unicast addresses start with these bits. All others are refused: loopback, link-local, unique local, site-local, multicast and
// unassigned ranges.
const GLOBAL_IPV6 = range("2000::/3");

const NOT_PUBLIC_IPV6 = [
  // Benchmarks, identifiers, documentation.
  "2001:2::/48",
  "2001:10::/28",
  "2001:20::/28",
  "2001:db8::/32",
  "3fff::/20",
].map(range);

/** IPv6 ranges that contain IPv4 addresses, and how to extract these. */
const WRAPPERS: readonly { range: Range; unwrap: (bytes: Bytes) => Bytes[] }[] = [
  // Mapped, translated, compatible (with `::` and `::1`, whose tails are in 0.0.0.0/8), NAT64.
  ...["::ffff:0:0/96", "::ffff:0:0:0/96", "::/96", "64:ff9b::/96"].map((text) => ({
    range: range(text),
    unwrap: (bytes: Bytes) => [bytes.slice(12)],
  })),
  { range: range("2002::/16"), unwrap: (bytes) => [bytes.slice(2, 6)] },
  // Teredo: the server, and the client with inverted bits.
  { range: range("2001::/32"), unwrap: (bytes) => [bytes.slice(4, 8), bytes.slice(12).map((byte) => byte ^ 0xff)] },
];

/** False also for a text that is not an address. */
export function isPublicAddress(address: string): boolean {
  if (isIPv4(address)) return isPublicIPv4(bytesOfIPv4(address));
  const [text = ""] = address.split("%");
  return isIPv6(text) && isPublicIPv6(bytesOfIPv6(text));
}

const isPublicIPv4 = (bytes: Bytes): boolean => !NOT_PUBLIC_IPV4.some((each) => isIn(bytes, each));

function isPublicIPv6(bytes: Bytes): boolean {
  if (isIsatap(bytes) && !isPublicIPv4(bytes.slice(12))) return false;
  const wrapper = WRAPPERS.find((each) => isIn(bytes, each.range));
  if (wrapper !== undefined) return wrapper.unwrap(bytes).every(isPublicIPv4);
  return isIn(bytes, GLOBAL_IPV6) && !NOT_PUBLIC_IPV6.some((each) => isIn(bytes, each));
}

/** ISATAP (RFC 5214): any prefix, then an interface identifier with this mark and an IPv4 address. */
const isIsatap = (bytes: Bytes): boolean => bytes[10] === 0x5e && bytes[11] === 0xfe && bytes[9] === 0 && ((bytes[8] ?? 0) & 0xfd) === 0;

function isIn(bytes: Bytes, { bytes: prefix, bits }: Range): boolean {
  for (let bit = 0; bit < bits; bit += 8) {
    const mask = bits - bit >= 8 ? 0xff : 0xff & (0xff << (8 - (bits - bit)));
    const index = bit / 8;
    if (((bytes[index] ?? 0) & mask) !== ((prefix[index] ?? 0) & mask)) return false;
  }
  return true;
}

function bytesOfIPv4(text: string): Bytes {
  return text.split(".").map(Number);
}

/** The text must be a valid IPv6 address. */
function bytesOfIPv6(text: string): Bytes {
  const [head = "", tail] = text.split("::");
  const before = groups(head);
  const after = tail === undefined ? [] : groups(tail);
  return [...before, ...Array<number>(16 - before.length - after.length).fill(0), ...after];
}

function groups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((group) => {
    if (group.includes(".")) return bytesOfIPv4(group);
    const value = Number.parseInt(group, 16);
    return [value >> 8, value & 0xff];
  });
}

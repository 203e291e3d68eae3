/** IP addresses: sets of them, given as CIDR blocks, and the peer that an address belongs to. */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

export type AddressSet = { has(address: string): boolean; readonly isEmpty: boolean };

const family = (address: string): "ipv4" | "ipv6" => (isIPv4(address) ? "ipv4" : "ipv6");

/** `::ffff:10.0.0.1` is how a dual-stack socket reports 10.0.0.1. */
const unmapped = (address: string): string => (address.startsWith("::ffff:") && isIPv4(address.slice(7)) ? address.slice(7) : address);

export type CidrBlock = { address: string; bits: number };

/** Undefined when the text is neither an address nor an address and a prefix length. The zone of an IPv6 address has a meaning on one machine only. */
export function parseCidr(text: string): CidrBlock | undefined {
  const [address = "", bitsText, ...rest] = text.trim().split("/");
  if (rest.length > 0 || isIP(address) === 0 || address.includes("%")) return undefined;
  const widest = isIPv6(address) ? 128 : 32;
  if (bitsText === undefined) return { address, bits: widest };
  const bits = /^(0|[1-9]\d{0,2})$/.test(bitsText) ? Number(bitsText) : Number.NaN;
  return bits <= widest ? { address, bits } : undefined;
}

export function addressSet(blocks: readonly CidrBlock[]): AddressSet {
  const list = new BlockList();
  for (const { address, bits } of blocks) list.addSubnet(address, bits, family(address));
  return {
    isEmpty: blocks.length === 0,
    has: (address) => isIP(address) !== 0 && list.check(unmapped(address), family(unmapped(address))),
  };
}

/** Whether a CIDR block is part of another one. Both have been parsed before. */
export function isWithin(inner: string, outer: string): boolean {
  const [one, other] = [parseCidr(inner), parseCidr(outer)];
  if (one === undefined || other === undefined || isIPv4(one.address) !== isIPv4(other.address)) return false;
  return one.bits >= other.bits && addressSet([other]).has(one.address);
}

/** The host of a URL as sockets take it: an IPv6 address has no brackets there. */
export const hostOf = ({ hostname }: URL): string => hostname.replace(/^\[|\]$/g, "");

const loopback = addressSet([
  { address: "127.0.0.0", bits: 8 },
  { address: "::1", bits: 128 },
]);

export const isLoopback = (host: string): boolean => host === "localhost" || loopback.has(host);

/** The peer of an address, by which budgets are counted: the address itself for IPv4, and its /64 for IPv6, because one site usually has
 *  a whole /64. An IPv4-mapped address counts as IPv4. A text that is no address is its own peer. */
export function peerOf(address: string): string {
  // The check of a whole address is expensive, and most addresses are IPv4.
  if (!address.includes(":") || !isIPv6(address)) return address;
  const groups = groupsOf(address);
  const isMapped = groups.slice(0, 5).every((group) => group === 0) && groups[5] === 0xff_ff;
  if (isMapped) return ipv4Of(groups[6] ?? 0, groups[7] ?? 0);
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(":")}::/64`;
}

/** The eight groups of an IPv6 address. */
export function groupsOf(address: string): number[] {
  const [start = "", end = ""] = (address.split("%", 1)[0] ?? "").split("::");
  const [left, right] = [writtenGroups(start), writtenGroups(end)];
  return [...left, ...Array.from({ length: 8 - left.length - right.length }, () => 0), ...right];
}

/** The last two groups can be written as an IPv4 address. */
function writtenGroups(text: string): number[] {
  if (text === "") return [];
  return text.split(":").flatMap((part) => {
    if (!part.includes(".")) return [Number.parseInt(part, 16)];
    const [a = 0, b = 0, c = 0, d = 0] = part.split(".").map(Number);
    return [a * 256 + b, c * 256 + d];
  });
}

/** The IPv4 address in two groups of an IPv6 address. */
export const ipv4Of = (high: number, low: number): string => [high >> 8, high & 0xff, low >> 8, low & 0xff].join(".");

/** Sets of IP addresses, given as CIDR blocks. */
import { BlockList, isIP, isIPv4, isIPv6 } from "node:net";

export type AddressSet = { has(address: string): boolean; readonly isEmpty: boolean };

const family = (address: string): "ipv4" | "ipv6" => (isIPv4(address) ? "ipv4" : "ipv6");

/** `::ffff:10.0.0.1` is how a dual-stack socket reports 10.0.0.1. */
const unmapped = (address: string): string => (address.startsWith("::ffff:") && isIPv4(address.slice(7)) ? address.slice(7) : address);

export type CidrBlock = { address: string; bits: number };

/** Undefined when the text is neither an address nor an address and a prefix length. */
export function parseCidr(text: string): CidrBlock | undefined {
  const [address = "", bitsText, ...rest] = text.trim().split("/");
  if (rest.length > 0 || isIP(address) === 0) return undefined;
  const widest = isIPv6(address) ? 128 : 32;
  if (bitsText === undefined) return { address, bits: widest };
  const bits = /^\d{1,3}$/.test(bitsText) ? Number(bitsText) : Number.NaN;
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

const loopback = addressSet([
  { address: "127.0.0.0", bits: 8 },
  { address: "::1", bits: 128 },
]);

export const isLoopback = (host: string): boolean => host === "localhost" || loopback.has(host);

/** The network of a recipient as far as its number shows it: its country, and the beginning of the number. */
import { countryOf, type Recipient } from "../model/phone-number.ts";

export type Network = { country: string; prefix: string };

// A country code and the first digits behind it, such as +49171, which belong to one network in many countries.
const PREFIX_LENGTH = 6;
// Reading a number takes 5 µs, and every message has several outcomes. All numbers of a prefix get the country of the first one.
const MAX_KNOWN = 10_000;
const known = new Map<string, Network>();

export function networkOf(recipient: string): Network {
  const prefix = recipient.slice(0, PREFIX_LENGTH);
  const before = known.get(prefix);
  if (before !== undefined) return before;
  if (known.size >= MAX_KNOWN) known.clear();
  // A user id of a messaging service begins with its country, and has no network.
  const network = { country: countryOf(recipient as Recipient) ?? "", prefix: prefix.startsWith("+") ? prefix : "" };
  known.set(prefix, network);
  return network;
}

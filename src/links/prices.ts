/** The prices of a link, by which routes with the strategy `price` compare links. Only their order matters, not their currency. */
import { HINT, Type, type Static } from "../http/schema.ts";

const KEY = Type.String({
  maxLength: 15,
  pattern: "^(\\*|[A-Z]{2}|\\+\\d{1,14})$",
  [HINT]: "must be *, a country such as DE, or the beginning of a number",
});

export const priceTable = Type.Record(Type.Number({ minimum: 0, maximum: 1_000_000 }), { propertyNames: KEY, maxProperties: 1_000 });
export type Prices = Readonly<Static<typeof priceTable>>;

/** The price of a message to a recipient: of the longest beginning of its number, of its country, or of all others. */
export function priceOf(prices: Prices | undefined, recipient: string, country: string): number | null {
  if (prices === undefined) return null;
  for (let length = recipient.length; length > 1; length -= 1) {
    const price = prices[recipient.slice(0, length)];
    if (price !== undefined && recipient.startsWith("+")) return price;
  }
  return prices[country] ?? prices["*"] ?? null;
}

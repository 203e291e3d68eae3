/** The order of the links of a route that chooses by quality or price. */
import { nullable, Type, type Static } from "../http/schema.ts";
import type { Score } from "../quality/scores.ts";
import type { Link } from "./link.ts";

export const STRATEGIES = ["quality", "price"] as const;
export type Strategy = (typeof STRATEGIES)[number];

/** A link with the numbers by which it was placed. `price`: null without one. */
export type WeighedLink = { link: Link; rate: number; results: number; price: number | null };

// Links whose scores differ by less are equally good: the last messages decide such differences by chance.
const QUALITY_TOLERANCE = 0.02;
// How much quality a lower price may cost.
const PRICE_TOLERANCE = 0.05;
/** The share of messages that take another link first, so that the scores of all links stay current. */
export const MEASURING_SHARE = 0.05;

export type Weighed = { links: readonly WeighedLink[]; reason: Strategy | "measuring" };

type Numbers = { scoreOf: (link: Link) => Score; priceOf: (link: Link) => number | null };

/** Orders links, which are in the order of their route. `random`: a number from 0 to 1, as of `Math.random`. */
export function weighLinks(strategy: Strategy, links: readonly Link[], numbers: Numbers, random: () => number): Weighed {
  const ordered = orderLinks(
    strategy,
    links.map((link) => ({ link, ...numbers.scoreOf(link), price: numbers.priceOf(link) })),
  );
  const [first, ...others] = ordered;
  if (first === undefined || others.length === 0 || random() >= MEASURING_SHARE) return { links: ordered, reason: strategy };
  const measured = others[Math.floor(random() * others.length)] as WeighedLink;
  return { links: [measured, ...ordered.filter((each) => each !== measured)], reason: "measuring" };
}

/** The links that are about as good as the best, by the order of the route or by price, and then the others by their scores. */
export function orderLinks(strategy: Strategy, links: readonly WeighedLink[]): WeighedLink[] {
  const best = Math.max(...links.map(({ rate }) => rate));
  const tolerance = strategy === "price" ? PRICE_TOLERANCE : QUALITY_TOLERANCE;
  const good = links.filter(({ rate }) => rate >= best - tolerance);
  const others = links.filter(({ rate }) => rate < best - tolerance).toSorted((a, b) => b.rate - a.rate);
  return [...(strategy === "price" ? good.toSorted(byPrice) : good), ...others];
}

/** A link without a price is the last. */
const byPrice = (one: WeighedLink, other: WeighedLink): number =>
  one.price === other.price ? 0 : (one.price ?? Infinity) - (other.price ?? Infinity);

export const LinkWeight = Type.Object(
  {
    link: Type.String({ description: "The id of the link; its name for a link of the configuration file." }),
    delivery_rate: Type.Number({
      description:
        "The share of its latest messages that were delivered, from 0 to 1. Nine delivered messages of ten are assumed in addition.",
    }),
    results: nullable(
      Type.Integer({ description: "The number of messages with a result; older ones count less. Null for a link of the operator." }),
    ),
    price: nullable(Type.Number({ description: "The price of the message. Null without one, and for a link of the operator." })),
  },
  { title: "LinkWeight", description: "The numbers by which a route with a strategy placed a link." },
);
export type LinkWeight = Static<typeof LinkWeight>;

/** The numbers as an account sees them. How much the other accounts send, and what the operator pays, is not shown. */
export const linkWeights = (links: readonly WeighedLink[]): LinkWeight[] =>
  links.map(({ link, rate, results, price }) => ({
    link: link.name,
    delivery_rate: Math.round(rate * 1_000) / 1_000,
    results: link.accountId === null ? null : Math.round(results),
    price: link.accountId === null ? null : price,
  }));

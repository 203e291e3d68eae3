/** The draft of a route: the values of the form, and how they become a request. */
import type { BodyOf, Link, Route } from "godwit-sdk";

type NewRoute = BodyOf<"createRoute">;

/** A carrier of the route. `key` identifies its row in the form. */
export type RouteStep = { key: number; link: string; weight: string };

export type RouteDraft = {
  channel: string;
  steps: readonly RouteStep[];
  countries: string;
  prefixes: string;
  priority: string;
  /** Empty: the order or the weights decide. */
  strategy: string;
};

/** The carriers that a route of a channel can name. */
export const carriersOf = (links: readonly Link[], channel: string): Link[] => links.filter(({ channels }) => channels.includes(channel));

/** A draft with the first carrier of the channel, and of all channels if none is given. */
export const newRouteDraft = (links: readonly Link[], channel: string = links[0]?.channels[0] ?? "sms"): RouteDraft => ({
  channel,
  steps: withStep([], carriersOf(links, channel)),
  countries: "",
  prefixes: "",
  priority: "",
  strategy: "",
});

export const routeDraftOf = ({ channel, links, countries, prefixes, priority, weights, strategy }: Route): RouteDraft => ({
  channel,
  steps: links.map((link, key) => ({ key, link, weight: String(weights?.[key] ?? "") })),
  countries: countries?.join(", ") ?? "",
  prefixes: prefixes?.join(", ") ?? "",
  priority: priority === 0 ? "" : String(priority),
  strategy: strategy ?? "",
});

/** Adds the first carrier that the route does not have yet. */
export function withStep(steps: readonly RouteStep[], carriers: readonly Link[]): RouteStep[] {
  const free = carriers.find(({ id }) => steps.every(({ link }) => link !== id)) ?? carriers[0];
  return [...steps, { key: 1 + Math.max(-1, ...steps.map(({ key }) => key)), link: free?.id ?? "", weight: "" }];
}

/** Moves a carrier before the one above it. */
export const movedUp = (steps: readonly RouteStep[], at: number): RouteStep[] => [
  ...steps.slice(0, at - 1),
  ...steps.slice(at, at + 1),
  ...steps.slice(at - 1, at),
  ...steps.slice(at + 1),
];

/** The body that changes the route. A rule that the form does not have is null, which removes it. */
export const toRules = ({ steps, countries, prefixes, priority, strategy }: RouteDraft) => ({
  links: steps.map(({ link }) => link),
  countries: toList(countries.toUpperCase()),
  prefixes: toList(prefixes),
  priority: priority === "" ? null : Number(priority),
  weights: toWeights(steps),
  strategy: strategy === "" ? null : (strategy as NonNullable<NewRoute["strategy"]>),
});

export const toNewRoute = (draft: RouteDraft): NewRoute => ({ channel: draft.channel as NewRoute["channel"], ...toRules(draft) });

function toList(text: string): string[] | null {
  const items = text.split(/[\s,;]+/).filter((item) => item !== "");
  return items.length === 0 ? null : items;
}

/** The weight of each carrier, or null if none has one. A single missing weight becomes null in the JSON, and the service names its field. */
const toWeights = (steps: readonly RouteStep[]): number[] | null =>
  steps.every(({ weight }) => weight === "") ? null : steps.map(({ weight }) => (weight === "" ? Number.NaN : Number(weight)));

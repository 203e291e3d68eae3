/** The expressions of the queries of the Grafana dashboard. */

export type Query = readonly [expr: string, legend: string];

export const SELECTED = 'instance=~"$instance"';
export const perSecond = (metric: string, by: string, where = ""): string =>
  `sum by (${by}) (rate(${metric}{${[SELECTED, where].filter(Boolean).join(",")}}[$__rate_interval]))`;
export const total = (metric: string, where = ""): string =>
  `sum(rate(${metric}{${[SELECTED, where].filter(Boolean).join(",")}}[$__rate_interval]))`;
export const quantile = (share: number, histogram: string, by = "le", where = ""): string =>
  `histogram_quantile(${share}, ${perSecond(`${histogram}_bucket`, by, where)})`;
/** A metric with the same value on every node, so that any node's value will do. */
export const shared = (metric: string, by = ""): string =>
  by === "" ? `max(${metric}{${SELECTED}})` : `max by (${by}) (${metric}{${SELECTED}})`;
export const each = (metric: string): string => `${metric}{${SELECTED}}`;
export const spread = (histogram: string): readonly Query[] => [
  [quantile(0.5, histogram), "half"],
  [quantile(0.95, histogram), "95 %"],
  [quantile(0.99, histogram), "99 %"],
];

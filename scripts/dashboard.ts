/** Writes packaging/grafana-dashboard.json from the panels of dashboard-panels.ts. A test fails when the file is out of date. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { SECTIONS, type Panel } from "./dashboard-panels.ts";

const SOURCE = { type: "prometheus", uid: "${datasource}" };
const COLUMNS = 24;
const SIZES = { stat: { w: 4, h: 4 }, timeseries: { w: 8, h: 8 }, "state-timeline": { w: 16, h: 8 } } as const;

/** Lays out the panels from left to right, with a new line when the next one does not fit. */
function* layOut(): Generator<object> {
  let id = 0;
  let y = 0;
  for (const { title, panels } of SECTIONS) {
    yield { id: (id += 1), type: "row", title, collapsed: false, panels: [], gridPos: { x: 0, y, w: COLUMNS, h: 1 } };
    y += 1;
    let x = 0;
    let height = 0;
    for (const panel of panels) {
      const { w, h } = SIZES[panel.kind ?? "timeseries"];
      if (x + w > COLUMNS) [x, y, height] = [0, y + height, 0];
      yield { id: (id += 1), gridPos: { x, y, w, h }, ...toPanel(panel) };
      x += w;
      height = Math.max(height, h);
    }
    y += height;
  }
}

const toPanel = ({ title, help, unit, queries, kind = "timeseries", isStacked }: Panel): object => ({
  type: kind,
  title,
  description: help,
  datasource: SOURCE,
  fieldConfig: {
    defaults: {
      unit,
      ...(kind === "timeseries"
        ? { min: 0, custom: { fillOpacity: 10, showPoints: "never", stacking: { mode: isStacked ? "normal" : "none" } } }
        : {}),
    },
    overrides: [],
  },
  options:
    kind === "stat"
      ? { reduceOptions: { calcs: ["lastNotNull"] }, colorMode: "none" }
      : { legend: { displayMode: "list", placement: "bottom" } },
  targets: queries.map(([expr, legendFormat], index) => ({
    refId: String.fromCharCode(65 + index),
    datasource: SOURCE,
    expr,
    legendFormat,
  })),
});

export const dashboard = (): object => ({
  uid: "godwit",
  title: "Godwit",
  description: "Written by scripts/dashboard.ts of the Godwit repository.",
  tags: ["godwit"],
  schemaVersion: 39,
  version: 1,
  editable: true,
  refresh: "30s",
  time: { from: "now-6h", to: "now" },
  timezone: "",
  annotations: { list: [] },
  links: [],
  templating: {
    list: [
      { name: "datasource", label: "Prometheus", type: "datasource", query: "prometheus", current: {}, hide: 0 },
      {
        name: "instance",
        label: "Node",
        type: "query",
        datasource: SOURCE,
        definition: "label_values(godwit_info, instance)",
        query: { query: "label_values(godwit_info, instance)", refId: "instances" },
        refresh: 2,
        multi: true,
        includeAll: true,
        allValue: ".*",
        current: { text: "All", value: "$__all" },
        sort: 1,
      },
    ],
  },
  panels: [...layOut()],
});

export const DASHBOARD_PATH = join(import.meta.dirname, "..", "packaging", "grafana-dashboard.json");
export const dashboardText = (): string => `${JSON.stringify(dashboard(), null, 2)}\n`;

if (import.meta.main) writeFileSync(DASHBOARD_PATH, dashboardText());

/** Routes that choose by quality: what `validate`, the timeline, `GET /v1/links` and the metrics show of the figures. */
import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { until } from "../support/expect.ts";
import { startGodwit, type Godwit } from "../support/harness.ts";

const linkTable = (name: string): string => `[[link]]
name = "${name}"
provider = "simulator"
prices = { "*" = 1 }
`;
const CONFIG = `${["acme", "birch"].map(linkTable).join("\n")}
[[route]]
channel = "sms"
links = ["acme", "birch"]
strategy = "quality"
`;
const TO = "+4917112345678";

let godwit: Godwit;
let key: string;
before(async () => {
  godwit = await startGodwit({ config: CONFIG, timings: { qualityHalfLifeMs: 60_000 } });
  key = await godwit.key({ environment: "live" });
});
after(() => godwit.stop());

type Weight = { link: string; delivery_rate: number; results: number | null; price: number | null };
type Route = { link: string; link_reason: string; links: Weight[] };

const validate = async (): Promise<Route> =>
  (await godwit.request("POST", "/v1/messages/validate", { key, body: { channel: "sms", recipient: TO, body: "hi" } })).json[
    "route"
  ] as Route;

test("a link whose messages fail is not the first any more, and the numbers are shown without volumes and prices", async () => {
  await godwit.rows(`insert into link_outcomes (link, country, prefix, cohort, outcome, code, messages, wait_ms)
    values ('acme', 'DE', '+49171', now(), 'sent', '', 100, 0),
           ('acme', 'DE', '+49171', now(), 'failed', 'unreachable', 90, 0),
           ('acme', 'DE', '+49171', now(), 'delivered', '', 10, 25000)`);
  const route = await until("the figures are read", async () => {
    const found = await validate();
    return found.link_reason === "quality" && found.link === "birch" ? found : undefined;
  });
  assert.deepEqual(
    route.links.map(({ link, results, price }) => [link, results, price]),
    [
      ["birch", null, null],
      ["acme", null, null],
    ],
  );
  assert.equal(route.links[0]?.delivery_rate, 0.9);
  assert.ok((route.links[1]?.delivery_rate ?? 1) < 0.3);

  const { json } = await godwit.request("POST", "/v1/messages", { key, body: { channel: "sms", recipient: TO, body: "hi" } });
  const events = await godwit.request("GET", `/v1/messages/${String(json["id"])}/events`, { key });
  const [first] = (events.json["data"] as { links: Weight[] | null }[]).slice(-1);
  assert.deepEqual(first?.links?.map(({ link }) => link).toSorted(), ["acme", "birch"]);

  const links = (await godwit.request("GET", "/v1/links", { key })).json["data"] as { name: string; quality: unknown }[];
  assert.deepEqual(
    links.map(({ name, quality }) => [name, quality]),
    [
      [
        "acme",
        {
          window_seconds: 900,
          sent: null,
          delivered: null,
          failed: null,
          pending: null,
          delivery_rate: 0.1,
          seconds_to_receipt: 2.5,
          errors: [],
          countries: [],
        },
      ],
      ["birch", null],
    ],
  );
  const { text } = await godwit.request("GET", "/metrics");
  assert.match(text, /godwit_link_delivery_rate\{link="acme"\} 0\.1/);
  assert.match(text, /godwit_link_seconds_to_receipt\{link="acme"\} 2\.5/);
});

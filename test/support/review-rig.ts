/** A service with the fake Cloud API, whose business account reviews templates. */
import assert from "node:assert/strict";
import { clientOf, newName, type Json, type TemplateClient } from "./client.ts";
import { until } from "./expect.ts";
import { FakeGraph, GRAPH_SECRETS, graphSignature, PHONE_NUMBER_ID } from "./fakes/graph.ts";
import { WABA_ID, type GraphTemplate } from "./fakes/graph-templates.ts";
import type { Seen } from "./fakes/http-carrier.ts";
import { startGodwit, type Godwit, type LogLine, type Reply, type StartOptions } from "./harness.ts";

const SECRETS = { WA_TOKEN: GRAPH_SECRETS.accessToken, WA_APP_SECRET: GRAPH_SECRETS.appSecret, WA_VERIFY_TOKEN: GRAPH_SECRETS.verifyToken };

export type LinkFields = { name?: string; waba?: string | null; url?: string; token?: string };

export const waLink = ({ name = "wa", waba = WABA_ID, url = "", token = "WA_TOKEN" }: LinkFields): string =>
  `[[link]]\nname = "${name}"\nprovider = "whatsapp"\nbase_url = "${url}"\nphone_number_id = "${PHONE_NUMBER_ID}"\n` +
  (waba === null ? "" : `waba_id = "${waba}"\n`) +
  `access_token_env = "${token}"\napp_secret_env = "WA_APP_SECRET"\nverify_token_env = "WA_VERIFY_TOKEN"\n`;

/** A template for whatsapp, with a variable in its header and two in its body. */
export const SHIPPED = {
  language: "en",
  category: "utility",
  channels: ["whatsapp"],
  header: "Order {{order}}",
  body: "Hello {{name}}, your order {{order}} is on its way.",
  footer: "Reply STOP to opt out",
  examples: { name: "Ada", order: "A-17" },
};

export type Component = { type: string; text?: string; parameters?: { text: string }[] };

/** The components of a template, or of a message with a template. */
export const componentsIn = (json: Json | undefined): Component[] =>
  ((json?.["template"] as Json | undefined) ?? json ?? {})["components"] as Component[];

export type RigOptions = {
  /** The configuration; by default one link to the fake Cloud API. */
  config?: (graphUrl: string) => string;
  /** Runs before the service starts. */
  prepare?: (graph: FakeGraph) => void;
  env?: Record<string, string>;
  /** Runs each node in a separate process. */
  asProcess?: boolean;
};

export class ReviewRig {
  readonly graph: FakeGraph;
  readonly godwit: Godwit;
  readonly key: string;
  readonly templates: TemplateClient;
  readonly env: Record<string, string>;
  readonly #options: StartOptions;

  private constructor(fields: Pick<ReviewRig, "graph" | "godwit" | "key" | "env"> & { options: StartOptions }) {
    this.graph = fields.graph;
    this.godwit = fields.godwit;
    this.key = fields.key;
    this.env = fields.env;
    this.#options = fields.options;
    this.templates = clientOf(fields.godwit, fields.key).templates;
  }

  static async start({
    config = (url) => waLink({ url }),
    prepare,
    env: more = {},
    asProcess = false,
  }: RigOptions = {}): Promise<ReviewRig> {
    const graph = await new FakeGraph().listen();
    prepare?.(graph);
    const env = { ...SECRETS, ...more };
    const options = { config: config(graph.url), env, asProcess };
    const godwit = await startGodwit({ ...options, roles: "api,dispatch" });
    await godwit.unlimited();
    graph.webhookUrl = `${godwit.url}/providers/whatsapp/wa`;
    return new ReviewRig({ graph, godwit, key: await godwit.key({ environment: "live" }), env, options });
  }

  /** Waits for the first syncs, which submit the predefined templates of every environment. */
  async synced(times = 1): Promise<void> {
    const warnings = (): LogLine[] => this.godwit.logs.filter(({ level }) => Number(level) >= 40);
    await until(
      () => `a sync; ${JSON.stringify(warnings())}`,
      async () => ((await this.sync())?.syncs ?? 0) >= times,
    );
  }

  /** Waits until no sync is running, and backdates the last one by an hour. */
  async backdateSync(): Promise<void> {
    const age = "update template_syncs set synced_at = now() - interval '1 hour' where claimed_by is null returning 1";
    await until("the sync to end", async () => (await this.godwit.rows(age))[0]);
  }

  async sync(): Promise<{ syncs: number; last_error: string | null; failures: number } | undefined> {
    const text = (await this.godwit.request("GET", "/metrics")).text;
    const syncs = Number(/godwit_template_syncs_total\{link="wa",outcome="synced"\} (\d+)/.exec(text)?.[1] ?? 0);
    const [row] = await this.godwit.rows<{ last_error: string | null; failures: number }>(
      "select last_error, failures from template_syncs",
    );
    return row && { syncs, ...row };
  }

  /** Makes the next sync due now. */
  async makeDue(): Promise<void> {
    await this.godwit.rows("update template_syncs set due_at = now(), synced_at = now() - interval '1 hour'");
  }

  /** Starts a sync and waits for its end. */
  async syncAgain(): Promise<void> {
    const before = (await this.sync())?.syncs ?? 0;
    await this.makeDue();
    await this.synced(before + 1);
  }

  create(fields: object = {}, name = newName("shipped")): Promise<Json> {
    return this.templates.create({ ...SHIPPED, name, ...fields });
  }

  async untilStatus(id: unknown, status: string, version?: number): Promise<Json> {
    let seen: Json = {};
    const look = async (): Promise<Json | undefined> => {
      seen = await this.templates.read(id);
      return seen["status"] === status && (version === undefined || seen["version"] === version) ? seen : undefined;
    };
    return until(() => `the template to be ${status}; it is ${JSON.stringify(seen)}`, look);
  }

  /** Waits until the carrier has the template, and returns the carrier's record of it. */
  async atCarrier(template: Json, condition: (theirs: GraphTemplate) => boolean = () => true): Promise<GraphTemplate> {
    const code = String(template["language"]).replace("-", "_");
    const find = () => {
      const theirs = this.graph.templates.find(String(template["name"]), code);
      return theirs !== undefined && condition(theirs) ? theirs : undefined;
    };
    return until(`${String(template["name"])} to be submitted`, find);
  }

  /** Waits until the template is submitted and the submission is stored. */
  async submitted(template: Json): Promise<GraphTemplate> {
    const theirs = await this.atCarrier(template);
    await until("the submission to be stored", async () => {
      const rows = await this.godwit.rows("select from template_reviews where name = $1 and status <> 'asked'", [template["name"]]);
      return rows.length > 0 || undefined;
    });
    return theirs;
  }

  async approved(fields: object = {}): Promise<{ template: Json; theirs: GraphTemplate }> {
    const created = await this.create(fields);
    const theirs = await this.submitted(created);
    this.graph.decide(theirs, "APPROVED");
    return { template: await this.untilStatus(created["id"], "approved"), theirs };
  }

  /** The submissions of a template by its name, the oldest first. */
  creations(name: unknown): Json[] {
    return this.graph
      .templateCalls("POST")
      .map(({ body }: Seen) => JSON.parse(body) as Json)
      .filter((body) => body["name"] === name);
  }

  /** Sends one webhook of the carrier. */
  async hook(body: string, { link = "wa", signature = graphSignature(body) } = {}): Promise<Reply> {
    return this.godwit.request("POST", `/providers/whatsapp/${link}`, { body, headers: { "x-hub-signature-256": signature } });
  }

  async send(template: unknown, variables: Json): Promise<Json> {
    const body = { recipient: "+4915112345678", channel: "whatsapp", body: null, template_id: template, template_variables: variables };
    const reply = await this.godwit.send(this.key, body);
    assert.equal(reply.status, 202, reply.text);
    return reply.json;
  }

  /** Waits until the carrier has received so many messages, and returns all of them. */
  async untilSent(count = 1): Promise<Json[]> {
    return until(`${count} messages`, () => (this.graph.messages.length >= count ? this.graph.messages : undefined));
  }

  /** Another node on the same database. */
  another(roles = "dispatch"): Promise<Godwit> {
    return startGodwit({ ...this.#options, databaseUrl: this.godwit.databaseUrl, roles });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // The fake carrier is closed first, so that it sends no more webhooks.
    await this.graph.close();
    await this.godwit.stop();
  }
}

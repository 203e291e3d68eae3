/** Customers with webhook endpoints, and the deliveries that wait for them. */
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { clientOf, clientOfAccount, type Client, type EndpointClient, type Json, type Query } from "./client.ts";
import { LIMIT_MS, until } from "./expect.ts";
import { ALLOW_LOOPBACK, typesOf, type Call, type Hook } from "./hook-server.ts";
import type { Godwit, StartOptions } from "./harness.ts";
import { rowId } from "./tables.ts";
import type { Environment } from "../../src/model/owner.ts";

/** The options of a service with all roles, a fast simulator, and webhook endpoints on this machine. */
export const WITH_WEBHOOKS = { roles: "api,dispatch,webhooks", simulatorSpeed: 50, env: ALLOW_LOOPBACK } satisfies StartOptions;

type Attempt = {
  attempted_at: string;
  duration_ms: number;
  response_status: number | null;
  response_body: string | null;
  error: string | null;
};
export type DeliveryRecord = {
  id: string;
  endpoint_id: string;
  event_id: string;
  event_type: string;
  status: string;
  attempts: Attempt[];
  next_attempt_at: string | null;
  created_at: string;
  updated_at: string;
};
export type QueueRow = { event: string; is_retry: boolean; attempts: number; due_in_ms: number; due_at_ms: number };

let customers = 0;
let paths = 0;

/** A customer with a separate account. */
export class Customer {
  readonly godwit: Godwit;
  readonly account: string;
  readonly key: string;
  readonly client: Client;

  private constructor(godwit: Godwit, account: string, key: string) {
    this.godwit = godwit;
    this.account = account;
    this.key = key;
    this.client = clientOf(godwit, key);
  }

  static async of(
    godwit: Godwit,
    { account = `customer ${(customers += 1)}`, environment = "test" }: { account?: string; environment?: Environment } = {},
  ): Promise<Customer> {
    const { key } = await clientOfAccount(godwit, account, { environment });
    return new Customer(godwit, account, key);
  }

  /** The same customer at another node. */
  at(godwit: Godwit): Customer {
    return new Customer(godwit, this.account, this.key);
  }

  async send(fields: object = {}): Promise<{ id: string } & Json> {
    return (await this.client.messages.send(fields, { idempotencyKey: randomUUID() })) as { id: string } & Json;
  }

  /** A new endpoint at a new path. */
  async endpoint(hook: Hook, eventTypes: readonly string[] = ["*"], path = `/hook/${(paths += 1)}`): Promise<Endpoint> {
    const record = await this.client.endpoints.create({ url: hook.url(path), event_types: eventTypes });
    return new Endpoint(this, { hook, path, id: String(record["id"]), secret: String(record["secret"]) });
  }
}

export class Endpoint {
  readonly customer: Customer;
  readonly hook: Hook;
  readonly path: string;
  readonly id: string;
  readonly secret: string;

  constructor(customer: Customer, { hook, path, id, secret }: { hook: Hook; path: string; id: string; secret: string }) {
    this.customer = customer;
    this.hook = hook;
    this.path = path;
    this.id = id;
    this.secret = secret;
  }

  get client(): EndpointClient {
    return this.customer.client.endpoints;
  }

  get uuid(): string {
    return rowId(this.id);
  }

  /** The same endpoint at another node. */
  at(godwit: Godwit): Endpoint {
    return new Endpoint(this.customer.at(godwit), this);
  }

  get calls(): Call[] {
    return this.hook.at(this.path);
  }

  /** Waits until the endpoint has received so many calls, and returns all of them. */
  async received(count: number, timeoutMs = LIMIT_MS): Promise<Call[]> {
    const what = (): string =>
      `${count} calls of ${this.path}; there were ${this.calls.length}: ${typesOf(this.calls).slice(0, 50).join(", ")}`;
    return until(what, () => (this.calls.length >= count ? this.calls : undefined), timeoutMs);
  }

  /** Sends a test event and waits for its call. Every earlier event has arrived by then. */
  async test(): Promise<Call> {
    const id = await this.client.test(this.id);
    return until(`the test event at ${this.path}`, () => this.calls.find(({ event }) => event.id === id));
  }

  record(): Promise<Json> {
    return this.client.read(this.id);
  }

  edit(body: Json): Promise<Json> {
    return this.client.edit(this.id, body);
  }

  /** The deliveries, the newest first. */
  async deliveries(query: Query = { limit: "100" }): Promise<DeliveryRecord[]> {
    return (await this.client.deliveries(this.id, query)).data as DeliveryRecord[];
  }

  async retry({ id }: Pick<DeliveryRecord, "id">): Promise<DeliveryRecord> {
    return (await this.client.retry(this.id, id)) as DeliveryRecord;
  }

  /** Waits until the only delivery of the endpoint passes the test. */
  async delivery(what: string, test: (delivery: DeliveryRecord) => boolean): Promise<DeliveryRecord> {
    let seen: DeliveryRecord[] = [];
    const look = async (): Promise<DeliveryRecord | undefined> => {
      seen = await this.deliveries();
      assert.ok(seen.length <= 1);
      return seen.find(test);
    };
    return until(() => `a delivery that ${what}; there is ${JSON.stringify(seen)}`, look);
  }

  attempted(count: number): Promise<DeliveryRecord> {
    return this.delivery(`has ${count} attempts`, ({ attempts }) => attempts.length === count);
  }

  /** The deliveries that wait for the endpoint. */
  queue(): Promise<QueueRow[]> {
    return this.customer.godwit.rows<QueueRow>(
      `select event_id::text as event, is_retry, attempts, (extract(epoch from due_at - now()) * 1000)::float8 as due_in_ms,
              (extract(epoch from due_at) * 1000)::float8 as due_at_ms
         from webhook_queue
        where endpoint_id = $1
        order by due_at`,
      [this.uuid],
    );
  }

  /** Waits until no delivery waits for the endpoint. */
  async idle(): Promise<void> {
    await until(`no delivery to wait for ${this.path}`, async () => ((await this.queue()).length === 0 ? true : undefined));
  }

  /** Makes all waiting deliveries due, and wakes the workers. */
  async makeDue(): Promise<void> {
    const { godwit } = this.customer;
    await godwit.rows("update webhook_queue set due_at = now() where endpoint_id = $1", [this.uuid]);
    // The notification of a node that has added a delivery to the outbox.
    await godwit.rows("select pg_notify('godwit_work', 'test @webhooks')");
  }
}

/** One run of the fuzzer: sends drawn requests one after the other, and checks each response, each turn of the event loop, and the memory. */
import { request as send } from "undici";
import { randomFrom, type Random } from "../chaos/random.ts";
import { CompatibleDrawer, type User } from "./compatible.ts";
import { TwilioDrawer } from "./twilio.ts";
import { RequestDrawer, type Document, type FuzzRequest } from "./requests.ts";
import type { MeasuredService } from "./service.ts";

const MAX_TURN_MS = 50;
const MAX_ERROR_BYTES = 65_536;
// Code that is compiled, or a collection of garbage, may fall into any request.
const TRIES = 5;
// Caches and compiled code grow in the first part of a run.
const WARM_UP_SHARE = 0.4;
const MAX_GROWTH_BYTES = 24 * 1_048_576;
const MAX_VIOLATIONS = 20;
// A slow machine sends these however long it takes.
const MIN_REQUESTS = 50;
const COMPATIBLE_SHARE = 0.2;

export type FuzzReport = {
  seed: number;
  requests: number;
  statuses: Record<string, number>;
  longestTurnMs: number;
  largestErrorBytes: number;
  /** The growth of the heap between two collections of garbage, after the warm-up. */
  heapGrowthBytes: number;
  violations: string[];
};

type Reply = { status: number; text: string; bytes: number };

export class Fuzzer {
  readonly #service: MeasuredService;
  readonly #random: Random;
  readonly #drawer: RequestDrawer;
  readonly #compatible: CompatibleDrawer;
  readonly #twilio: TwilioDrawer;
  readonly report: FuzzReport;

  private constructor(
    service: MeasuredService,
    document: Document,
    { seed, kannel, twilio }: { seed: number; kannel: CreatedUser; twilio: CreatedUser },
  ) {
    this.#service = service;
    this.#random = randomFrom(seed);
    this.#drawer = new RequestDrawer(this.#random, document, { own: service.key, reserved: [kannel.id, twilio.id] });
    this.#compatible = new CompatibleDrawer(this.#random, kannel);
    this.#twilio = new TwilioDrawer(this.#random, twilio);
    this.report = { seed, requests: 0, statuses: {}, longestTurnMs: 0, largestErrorBytes: 0, heapGrowthBytes: 0, violations: [] };
  }

  static async run(service: MeasuredService, { seed, runMs }: { seed: number; runMs: number }): Promise<FuzzReport> {
    const response = await send(`${service.url}/openapi.json`, { dispatcher: service.dispatcher });
    const kannel = await createUser(service, { source: "kannel", user_name: "fuzz", secret: "password-of-fuzz" });
    const twilio = await createUser(service, { source: "twilio" });
    const fuzzer = new Fuzzer(service, (await response.body.json()) as Document, { seed, kannel, twilio });
    const { report } = fuzzer;
    await fuzzer.#send(runMs * WARM_UP_SHARE);
    const before = service.hasEnded ? 0 : await service.heapBytes();
    await fuzzer.#send(runMs * (1 - WARM_UP_SHARE));
    report.heapGrowthBytes = service.hasEnded ? 0 : (await service.heapBytes()) - before;
    if (service.hasEnded) report.violations.push("the service ended");
    if (report.heapGrowthBytes > MAX_GROWTH_BYTES) report.violations.push(`the heap grew by ${report.heapGrowthBytes} bytes`);
    return report;
  }

  async #send(forMs: number): Promise<void> {
    const endsAt = performance.now() + forMs;
    const atLeast = this.report.requests + MIN_REQUESTS;
    const isDone = (): boolean => performance.now() >= endsAt && this.report.requests >= atLeast;
    while (!isDone() && !this.#service.hasEnded && this.report.violations.length < MAX_VIOLATIONS) await this.#check(this.#draw());
  }

  #draw(): FuzzRequest {
    if (!this.#random.chance(COMPATIBLE_SHARE)) return this.#drawer.draw();
    return this.#random.chance(0.5) ? this.#compatible.draw() : this.#twilio.draw();
  }

  async #check(request: FuzzRequest): Promise<void> {
    const { report } = this;
    const { result, worstTurnMs } = await this.#service.measure(() => this.#perform(request));
    const { status, text, bytes } = result;
    report.requests += 1;
    report.statuses[status] = (report.statuses[status] ?? 0) + 1;
    if (status < 300) this.#drawer.learn(request, text);
    if (status < 300) this.#twilio.learn(text);
    if (status >= 400) report.largestErrorBytes = Math.max(report.largestErrorBytes, bytes);
    const turnMs = worstTurnMs > MAX_TURN_MS ? await this.#leastTurnMs(request, worstTurnMs) : worstTurnMs;
    report.longestTurnMs = Math.max(report.longestTurnMs, turnMs);
    const violate = (what: string): unknown => report.violations.push(`${what}: ${describe(request)} → ${status} ${text.slice(0, 200)}`);
    if (status >= 500) violate("an error of the service");
    else if (!request.statuses.has(String(status))) violate("an undeclared status");
    if (status >= 400 && bytes > MAX_ERROR_BYTES) violate(`an error of ${bytes} bytes`);
    if (turnMs > MAX_TURN_MS) violate(`a turn of ${turnMs.toFixed(1)} ms`);
  }

  async #leastTurnMs(request: FuzzRequest, first: number): Promise<number> {
    let least = first;
    for (let count = 1; count < TRIES && least > MAX_TURN_MS; count += 1)
      least = Math.min(least, (await this.#service.measure(() => this.#perform(request))).worstTurnMs);
    return least;
  }

  async #perform({ method, path, headers, body }: FuzzRequest): Promise<Reply> {
    const { url, dispatcher } = this.#service;
    const response = await send(`${url}${path}`, { method: method as "GET", headers, dispatcher, ...(body === undefined ? {} : { body }) });
    if (String(response.headers["content-type"]).startsWith("text/event-stream")) {
      // It would not end.
      response.body.on("error", () => undefined).destroy();
      return { status: response.statusCode, text: "", bytes: 0 };
    }
    const bytes = await response.body.bytes();
    return { status: response.statusCode, text: Buffer.from(bytes).toString(), bytes: bytes.length };
  }
}

type CreatedUser = User & { id: string };

/** Creates a user of a compatible API. */
async function createUser({ url, dispatcher, key }: MeasuredService, fields: Record<string, string>): Promise<CreatedUser> {
  const headers = { authorization: `Bearer ${key.secret}`, "content-type": "application/json" };
  const options = { method: "POST", headers, body: JSON.stringify(fields), dispatcher } as const;
  const response = await send(`${url}/v1/compatible_credentials`, options);
  const { id, user_name: userName, secret } = (await response.body.json()) as Record<string, string | undefined>;
  if (id === undefined || userName === undefined || secret === undefined) throw new Error(`no user: ${response.statusCode}`);
  return { id, userName, secret };
}

const describe = ({ method, path, headers, body }: FuzzRequest): string =>
  `${method} ${path} ${JSON.stringify({ ...headers, authorization: undefined })} ${(body ?? "").toString().slice(0, 1_000)}`;

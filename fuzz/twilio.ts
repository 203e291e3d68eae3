/** Draws requests of Twilio's API, which is not in the OpenAPI document: valid ones, and ones with mutated paths, forms and passwords. */
import type { Random } from "../chaos/random.ts";
import type { User } from "./compatible.ts";
import type { FuzzRequest } from "./requests.ts";
import { drawJunk, drawText } from "./values.ts";

const STATUSES: ReadonlySet<string> = new Set(["200", "201", "204", "400", "401", "403", "404", "405", "409", "413", "415", "429", "431"]);

const NUMBERS = ["+15005550006", "whatsapp:+15005550006", "+15005550004", "+1", "123", "", "whatsapp:", "+49 30"];
const ZEROS = "0".repeat(32);

/** Values of the parameters. Several are refused. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  To: NUMBERS,
  From: ["+15005550000", "Shop", `MG${ZEROS}`, "whatsapp:+15005550000", "x".repeat(300)],
  Body: ["Hello", "Привет €", "x".repeat(2_000), "\0", ""],
  MediaUrl: ["http://127.0.0.1:1/a.png", "http://[::1", "file:///etc/passwd", "x"],
  StatusCallback: ["https://example.com/status", "http://10.0.0.1/", "javascript:1", "https://user:pass@example.com/?a=%zz"],
  MessagingServiceSid: [`MG${ZEROS}`, "MG1"],
  ValidityPeriod: ["60", "0", "-1", "99999999999"],
  SendAt: ["2030-01-01T00:00:00Z", "9999-12-31T23:59:59Z", "tomorrow"],
  ScheduleType: ["fixed", "x"],
  ContentSid: [`HX${ZEROS}`],
  SmartEncoded: ["true", "false"],
  Status: ["canceled", "approved", "x"],
  Channel: ["sms", "whatsapp", "call"],
  Code: ["123456", "000000", "x"],
  VerificationSid: [`VE${ZEROS}`],
  PageSize: ["1", "1000", "0", "-1", "x"],
  Page: ["0", "3", "1e9"],
  PageToken: [`PASM${ZEROS}`, "PA", "x"],
  DateSent: ["2026-01-01", "2026-13-01", "x"],
  "DateSent>": ["2026-01-01T00:00:00Z", "-1"],
  "DateSent<": ["2026-01-01", "0000-00-00"],
  Fields: ["line_type_intelligence", "caller_name,x"],
  CountryCode: ["DE", "xx"],
};

type Shape = { method: string; path: string; usual: readonly string[] };

const shapes = (account: string): readonly Shape[] => {
  const messages = `/2010-04-01/Accounts/${account}/Messages`;
  const verify = `/v2/Services/VA${account.slice(2)}`;
  return [
    { method: "POST", path: `${messages}.json`, usual: ["To", "From", "Body"] },
    { method: "GET", path: `${messages}.json`, usual: ["PageSize"] },
    { method: "GET", path: `${messages}/{SM}.json`, usual: [] },
    { method: "POST", path: `${messages}/{SM}.json`, usual: ["Status"] },
    { method: "DELETE", path: `${messages}/{SM}.json`, usual: [] },
    { method: "GET", path: `${messages}/{SM}/Media.json`, usual: [] },
    { method: "GET", path: `${messages}/{SM}/Media/ME${ZEROS}`, usual: [] },
    { method: "GET", path: `/2010-04-01/Accounts/${account}.json`, usual: [] },
    { method: "GET", path: "/v1/Services", usual: ["PageSize"] },
    { method: "GET", path: `/v1/Services/MG${account.slice(2)}/PhoneNumbers`, usual: [] },
    { method: "POST", path: `${verify}/Verifications`, usual: ["To", "Channel"] },
    { method: "GET", path: `${verify}/Verifications/{VE}`, usual: [] },
    { method: "POST", path: `${verify}/Verifications/{VE}`, usual: ["Status"] },
    { method: "POST", path: `${verify}/VerificationCheck`, usual: ["To", "Code"] },
    { method: "GET", path: "/v2/PhoneNumbers/+14155552671", usual: ["Fields"] },
    { method: "GET", path: "/2010-04-01/Accounts/x/Calls.json", usual: [] },
  ];
};

const SID = /"sid":"((?:SM|MM|VE)[0-9a-f]{32})"/g;
const MAX_KEPT = 200;
const TYPES = ["application/json", "text/plain", "multipart/form-data; boundary=x", "x"];

export class TwilioDrawer {
  readonly #random: Random;
  readonly #user: User;
  readonly #shapes: readonly Shape[];
  /** SIDs in earlier responses. */
  readonly #sids: string[] = [];

  constructor(random: Random, user: User) {
    this.#random = random;
    this.#user = user;
    this.#shapes = shapes(user.userName);
  }

  /** Keeps the SIDs of a response for later requests. */
  learn(text: string): void {
    for (const [, sid = ""] of text.matchAll(SID))
      this.#sids[this.#sids.length < MAX_KEPT ? this.#sids.length : this.#random.between(0, MAX_KEPT - 1)] = sid;
  }

  draw(): FuzzRequest {
    const random = this.#random;
    const { method, path, usual } = random.pick(this.#shapes);
    const { userName, secret } = random.chance(0.05) ? { userName: this.#text(), secret: this.#text() } : this.#user;
    const authorization = `Basic ${Buffer.from(`${userName}:${secret}`).toString("base64")}`;
    const parameters = this.#mutated(this.#parameters(usual));
    const target = `/twilio${this.#filled(path)}`;
    const isForm = method === "POST";
    const type = random.chance(0.05) ? random.pick(TYPES) : "application/x-www-form-urlencoded";
    return {
      method: random.chance(0.03) ? random.pick(["PUT", "PATCH", "DELETE", "HEAD"]) : method,
      path: isForm || parameters === "" ? target : `${target}?${parameters}`,
      headers: {
        authorization: random.chance(0.03) ? random.pick(["Basic", "Basic x", "Bearer x", authorization.slice(0, 20)]) : authorization,
        ...(isForm ? { "content-type": type } : {}),
        ...(random.chance(0.1)
          ? { "i-twilio-idempotency-token": random.pick(["again", "x".repeat(300), "3b241101-e2bb-4255-8caf-4136c566a962"]) }
          : {}),
      },
      body: isForm ? (random.chance(0.05) ? Buffer.from([0xff, 0x3d, 0x80]) : parameters) : undefined,
      statuses: STATUSES,
    };
  }

  #filled(path: string): string {
    const random = this.#random;
    const filled = path.replaceAll(/\{(SM|VE)\}/g, (_, kind: string) => {
      if (random.chance(0.1)) return encodeURIComponent(this.#text()).slice(0, 150);
      const known = this.#sids.filter((sid) => sid.startsWith(kind));
      return known.length === 0 || random.chance(0.2) ? kind + ZEROS : random.pick(known);
    });
    return random.chance(0.03) ? filled + random.pick(["/", ".json", "%2e%2e", "%zz", "//x"]) : filled;
  }

  #text(): string {
    return drawText(this.#random).toWellFormed();
  }

  #parameters(usual: readonly string[]): string {
    const random = this.#random;
    const drawn: [string, string][] = [];
    for (const [name, values] of Object.entries(VALUES)) {
      const isUsual = usual.includes(name);
      if (!random.chance(isUsual ? 0.95 : 0.03)) continue;
      const [first = ""] = values;
      drawn.push([name, isUsual && random.chance(0.7) ? first : random.chance(0.2) ? this.#junk() : random.pick(values)]);
      if (random.chance(0.02)) drawn.push([name, random.pick(values)]);
    }
    if (random.chance(0.03)) drawn.push([this.#text(), "1"]);
    return new URLSearchParams(drawn).toString();
  }

  #junk(): string {
    const value = drawJunk(this.#random);
    return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed().slice(0, 3_000);
  }

  /** Percent signs, bytes that are no UTF-8 and very many fields, in any place. */
  #mutated(text: string): string {
    if (!this.#random.chance(0.1)) return text;
    const at = this.#random.between(0, text.length);
    return text.slice(0, at) + this.#random.pick(["%", "%zz", "%ff%fe", "&&=&", "a&".repeat(150), "%00", "="]) + text.slice(at);
  }
}

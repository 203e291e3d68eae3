/** Draws requests of the compatible APIs, which are not in the OpenAPI document: valid ones, and ones with mutated parameters, headers, bytes and
 *  passwords. */
import type { Random } from "../chaos/random.ts";
import type { FuzzRequest } from "./requests.ts";
import { drawJunk, drawText } from "./values.ts";

export type User = { userName: string; secret: string };

const SENDSMS = "/cgi-bin/sendsms";
const STATUSES: ReadonlySet<string> = new Set(["200", "202", "400", "403", "404", "405", "413", "415", "431"]);

/** Values of the parameters of sendsms. Several are refused. */
const VALUES: Readonly<Record<string, readonly string[]>> = {
  from: ["12345", "Godwit", "+14155550100", " ", "\u{1f600}"],
  to: ["14155550123", "+14155550123 0014155550124", "1-415-555-0125", "abc", "1 ".repeat(500), "-"],
  text: ["Hello", "Привет €", "x".repeat(2_000), "\0", ""],
  charset: ["UTF-8", "ISO-8859-1", "UTF-16BE", "none", "x-user-defined", "replacement", "utf-7"],
  coding: ["0", "1", "2", "9", "x"],
  udh: ["\u0005\u0000\u0003\u0001\u0002\u0001", "\u0001", "x"],
  mclass: ["-1", "0", "9"],
  mwi: ["1", "x"],
  validity: ["0", "1", "60", "99999999999999999999", "-9"],
  deferred: ["0", "5", "9999999999", "x"],
  priority: ["0", "3", "7"],
  smsc: ["main", ""],
  account: ["billing", "[x]", "y".repeat(70)],
  "dlr-mask": ["31", "0", "-1", "1e9"],
  "dlr-url": [
    "http://127.0.0.1/%d",
    "https://example.com/dlr?x=%d&%#a#b#&%",
    "http://",
    "http://x%p@[::",
    `https://example.com/${"%d".repeat(900)}`,
  ],
  "meta-data": ["?smpp?a=b&", "?own?x=1&", "?".repeat(3_000)],
};
const ALWAYS: ReadonlySet<string> = new Set(["from", "to", "text"]);
const STATUS_PATHS = ["/status", "/status.txt", "/status.html", "/status.xml"];
const TYPES = [
  "text/plain",
  "text/plain; charset=ISO-8859-1",
  "application/octet-stream",
  "text/html",
  "text/xml",
  "application/x-www-form-urlencoded",
  "x",
];

export class CompatibleDrawer {
  readonly #random: Random;
  readonly #user: User;

  constructor(random: Random, user: User) {
    this.#random = random;
    this.#user = user;
  }

  draw(): FuzzRequest {
    const random = this.#random;
    const { userName, secret } = random.chance(0.05) ? { userName: this.#text(), secret: this.#text() } : this.#user;
    const parameters = this.#parameters();
    const drawn = random.chance(0.1)
      ? {
          method: "GET",
          path: `${random.pick(STATUS_PATHS)}?${query({ username: userName, password: secret })}`,
          headers: {},
          body: undefined,
        }
      : random.chance(0.3)
        ? this.#post({ ...parameters, username: userName, password: secret })
        : {
            method: "GET",
            path: `${SENDSMS}?${this.#mutated(query({ username: userName, password: secret, ...parameters }))}`,
            headers: {},
            body: undefined,
          };
    const headers = { ...drawn.headers, ...(random.chance(0.05) ? { "idempotency-key": "not-a-uuid" } : {}) };
    return { ...drawn, headers, statuses: STATUSES };
  }

  #text(): string {
    return drawText(this.#random).toWellFormed();
  }

  #parameters(): Record<string, string> {
    const random = this.#random;
    const drawn: Record<string, string> = {};
    for (const [name, values] of Object.entries(VALUES)) {
      if (!random.chance(ALWAYS.has(name) ? 0.95 : 0.1)) continue;
      const [usual = ""] = values;
      drawn[name] = ALWAYS.has(name) && random.chance(0.6) ? usual : random.chance(0.2) ? this.#junk() : random.pick(values);
    }
    if (random.chance(0.05)) drawn[this.#text()] = "1";
    return drawn;
  }

  #junk(): string {
    const value = drawJunk(this.#random);
    return (typeof value === "string" ? value : JSON.stringify(value)).toWellFormed().slice(0, 3_000);
  }

  /** Percent signs and bytes that are no UTF-8, in any place. */
  #mutated(text: string): string {
    if (!this.#random.chance(0.15)) return text;
    const at = this.#random.between(0, text.length);
    return text.slice(0, at) + this.#random.pick(["%", "%zz", "%ff%fe", "&&=&", "+".repeat(50), "%00", "="]) + text.slice(at);
  }

  #post({ text = "", ...parameters }: Record<string, string>): Omit<FuzzRequest, "statuses"> {
    const headers: Record<string, string> = { "content-type": this.#random.pick(TYPES) };
    for (const [name, value] of Object.entries(parameters))
      // No client can send other characters in a header.
      if (/^[a-z-]+$/.test(name))
        headers[`x-kannel-${name}`] = value
          .replaceAll(/[^ -~]/g, "?")
          .trim()
          .slice(0, 1_000);
    return { method: "POST", path: SENDSMS, headers, body: this.#random.chance(0.1) ? Buffer.from([0xff, 0, 0x80]) : text };
  }
}

const query = (parameters: Readonly<Record<string, string>>): string => new URLSearchParams(parameters).toString();

/** The forms of token requests that are accepted, and the errors of the others. */
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { Problem } from "../http/problem.ts";
import { parseTokenForm, type TokenForm, type TokenRequest } from "./token-form.ts";

const TYPE = "application/x-www-form-urlencoded";
const GRANT = "grant_type=client_credentials";
const base64 = (text: string): string => Buffer.from(text).toString("base64");

type FormRequest = { form?: string; authorization?: string; headers?: Record<string, string> };

const request = ({ form = GRANT, authorization, headers = {} }: FormRequest): TokenRequest => ({
  headers: { "content-type": TYPE, ...(authorization === undefined ? {} : { authorization }), ...headers },
  body: Buffer.from(form),
  peer: "127.0.0.1",
});

const READ: Readonly<Record<string, [FormRequest, TokenForm]>> = {
  "HTTP Basic": [
    { authorization: `Basic ${base64("a:b")}` },
    { client: { id: "a", secret: "b" }, grantType: "client_credentials", scope: undefined },
  ],
  "HTTP Basic in any case, with blanks before the credentials": [
    { authorization: `bAsIc   ${base64("a:b")}` },
    { client: { id: "a", secret: "b" }, grantType: "client_credentials", scope: undefined },
  ],
  "HTTP Basic, percent-encoded, with colons in the secret": [
    { authorization: `Basic ${base64("%61%2B+c:b:%3A%C3%A9")}` },
    { client: { id: "a+ c", secret: "b::é" }, grantType: "client_credentials", scope: undefined },
  ],
  "the client in the form": [
    { form: `${GRANT}&client_id=a&client_secret=b+c` },
    { client: { id: "a", secret: "b c" }, grantType: "client_credentials", scope: undefined },
  ],
  "the client's id in both, the same": [
    { form: `${GRANT}&client_id=a`, authorization: `Basic ${base64("a:b")}` },
    { client: { id: "a", secret: "b" }, grantType: "client_credentials", scope: undefined },
  ],
  "parameters without a value, which are ignored": [
    { form: `${GRANT}&client_id=&client_secret=&scope=`, authorization: `Basic ${base64("a:b")}` },
    { client: { id: "a", secret: "b" }, grantType: "client_credentials", scope: undefined },
  ],
  "unknown parameters, even repeated, which are ignored": [
    { form: `${GRANT}&resource=x&resource=y&__proto__=z&client_id=a&client_secret=b` },
    { client: { id: "a", secret: "b" }, grantType: "client_credentials", scope: undefined },
  ],
  "a scope, and another grant": [
    { form: "grant_type=password&scope=x%20y+z", authorization: `Basic ${base64("a:b")}` },
    { client: { id: "a", secret: "b" }, grantType: "password", scope: "x y z" },
  ],
  "a media type with its character set": [
    {
      headers: { "content-type": `${TYPE.toUpperCase()} ; charset="UTF-8"`, "content-encoding": "identity" },
      authorization: `Basic ${base64("a:b")}`,
    },
    { client: { id: "a", secret: "b" }, grantType: "client_credentials", scope: undefined },
  ],
};

describe("a form is parsed with", () => {
  for (const [what, [form, expected]] of Object.entries(READ)) test(what, () => assert.deepEqual(parseTokenForm(request(form)), expected));
});

const REFUSED: Readonly<Record<string, [FormRequest, error: string, status: number, pointers?: string[]]>> = {
  "no client": [{}, "invalid_client", 401],
  "only an id": [{ form: `${GRANT}&client_id=a` }, "invalid_client", 401],
  "only a secret": [{ form: `${GRANT}&client_secret=a` }, "invalid_client", 401],
  "another scheme": [{ authorization: "Bearer abc" }, "invalid_client", 401],
  "Basic without credentials": [{ authorization: "Basic" }, "invalid_client", 401],
  "Basic that is not base64": [{ authorization: "Basic a:b" }, "invalid_client", 401],
  "Basic without a colon": [{ authorization: `Basic ${base64("ab")}` }, "invalid_client", 401],
  "Basic with a broken percent sign": [{ authorization: `Basic ${base64("a:%zz")}` }, "invalid_client", 401],
  "Basic with percent encoding that is not UTF-8": [{ authorization: `Basic ${base64("a:%ff")}` }, "invalid_client", 401],
  "a client in the header and in the form": [
    { form: `${GRANT}&client_id=a&client_secret=b`, authorization: `Basic ${base64("a:b")}` },
    "invalid_request",
    400,
    ["/client_secret"],
  ],
  "two different ids": [{ form: `${GRANT}&client_id=c`, authorization: `Basic ${base64("a:b")}` }, "invalid_request", 400, ["/client_id"]],
  "every known parameter twice": [
    { form: ["grant_type", "scope", "client_id", "client_secret"].map((name) => `${name}=a&${name}=a`).join("&") },
    "invalid_request",
    400,
    ["/grant_type", "/scope", "/client_id", "/client_secret"],
  ],
  "no grant_type": [{ form: "client_id=a&client_secret=b" }, "invalid_request", 400, ["/grant_type"]],
  "an empty grant_type": [{ form: "grant_type=&client_id=a&client_secret=b" }, "invalid_request", 400, ["/grant_type"]],
  "no body": [{ form: "", authorization: `Basic ${base64("a:b")}` }, "invalid_request", 400, ["/grant_type"]],
  "no media type": [{ headers: { "content-type": "" } }, "invalid_request", 415],
  JSON: [{ headers: { "content-type": "application/json" } }, "invalid_request", 415],
  "a multipart form": [{ headers: { "content-type": "multipart/form-data; boundary=x" } }, "invalid_request", 415],
  "another character set": [{ headers: { "content-type": `${TYPE}; charset=iso-8859-1` } }, "invalid_request", 415],
  "a content encoding": [{ headers: { "content-encoding": "gzip" } }, "invalid_request", 415],
};

describe("a form is refused with", () => {
  for (const [what, [form, error, status, pointers]] of Object.entries(REFUSED)) {
    test(what, () => {
      assert.throws(
        () => parseTokenForm(request(form)),
        (problem) => {
          assert.ok(problem instanceof Problem);
          assert.deepEqual([problem.members["error"], problem.status], [error, status]);
          assert.deepEqual(
            problem.errors?.map((fault) => "pointer" in fault && fault.pointer),
            pointers,
          );
          assert.equal(problem.headers["www-authenticate"] !== undefined, status === 401, "a 401 names the way to authenticate");
          return true;
        },
      );
    });
  }
});

/** A page: a path that is served without a credential, for people, probes and carriers. */
import type { Problem } from "../http/problem.ts";
import type { Schema } from "../http/schema.ts";
import type { Route, StreamResponse } from "./route.ts";

export const HTML_TYPE = "text/html; charset=utf-8";

/** The parts of a request that precede its body. */
type PageHead = { params: Record<string, string>; headers: Record<string, string> };

type PageRequest = PageHead & {
  query: Record<string, string>;
  /** The whole URL of the request. */
  url: string;
  /** The unchanged bytes, empty if the page accepts no body. */
  body: Buffer;
  /** The address of the client; behind a trusted proxy, the one that the proxy names. */
  peer: string;
  /** The request comes from this machine, and not through a proxy. */
  isLocal: boolean;
  origin: string;
};
export type PageResponse = { status: number; contentType: string; body: string | Buffer; headers?: Record<string, string> };

/** The description of a page that programs call, from which the OpenAPI document is made. A page with a form has clients that authenticate
 *  by HTTP Basic or in the form, and counts toward their quota. A page without one needs no credential. */
export type PageOperation = Pick<Route, "operationId" | "summary" | "description" | "tag"> & {
  form?: Schema;
  reply: { description: string; schema: Schema };
};

export type Page = {
  method: "GET" | "POST";
  path: string;
  /** The limit of the body. A page without it accepts no body. */
  maxBodyBytes?: number;
  /** Refuses a request before its body is read, by a problem that it throws, or returns the limit of its body. */
  admit?: (head: PageHead) => { maxBodyBytes: number };
  /** Writes the errors of a page that has its own JSON form for them. */
  writeProblem?: (problem: Problem, origin: string, requestId: string) => string;
  operation?: PageOperation;
  render: (request: PageRequest) => Promise<PageResponse | StreamResponse>;
};

/** A page: a path that is served without a credential, for people, probes and carriers. */
import type { Problem } from "../http/problem.ts";

type PageRequest = {
  params: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  /** The whole URL of the request. */
  url: string;
  /** The unchanged bytes, empty where the page accepts no body. */
  body: Buffer;
  peer: string;
  origin: string;
};
export type PageResponse = { status: number; contentType: string; body: string | Buffer; headers?: Record<string, string> };
export type Page = {
  method: "GET" | "POST";
  path: string;
  /** The limit of the body. A page without it accepts no body. */
  maxBodyBytes?: number;
  /** Writes the errors of a page that has its own JSON form for them. */
  writeProblem?: (problem: Problem, origin: string, requestId: string) => string;
  render: (request: PageRequest) => Promise<PageResponse>;
};

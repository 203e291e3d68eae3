/** A page: what is served without a credential, for people, probes and carriers. */
import type { Problem } from "../http/problem.ts";

type PageRequest = {
  params: Record<string, string>;
  query: Record<string, string>;
  headers: Record<string, string>;
  /** The whole address, as the client called it. */
  url: string;
  /** As it came; empty where the page takes none. */
  body: Buffer;
  peer: string;
  origin: string;
};
export type PageResponse = { status: number; contentType: string; body: string | Buffer; headers?: Record<string, string> };
export type Page = {
  method: "GET" | "POST";
  path: string;
  /** Only one that takes a body says how large it may be. */
  maxBodyBytes?: number;
  /** For a page whose errors have a form of their own, in JSON. */
  writeProblem?: (problem: Problem, origin: string, requestId: string) => string;
  render: (request: PageRequest) => Promise<PageResponse>;
};

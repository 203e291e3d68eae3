/** The path of the API that was probably meant by an unknown one. Strangers can ask: the work is a comparison of a few short words. */
import { Problem } from "../http/problem.ts";
import { nearest, suggest } from "../lib/nearest.ts";
import type { Router } from "./exchange.ts";

// No path of the API has as many.
const MAX_SEGMENTS = 8;
const MAX_LENGTH = 200;
const VERSION = "v1";

/** Names of other messaging APIs, and the paths that they mean here. */
const PATH_SYNONYMS: Readonly<Record<string, string>> = {
  webhooks: "webhook_endpoints",
  endpoints: "webhook_endpoints",
  sms: "messages",
  api_keys: "keys",
  files: "media",
  opt_outs: "suppressions",
  verify: "verifications",
  carriers: "links",
};

/** `known`: paths such as `/v1/messages/{id}`. One word may be mistyped, and the version or the last slash may be wrong. */
export function similarPath(url: string, known: readonly string[]): string | undefined {
  const path = url.split("?", 1)[0] as string;
  if (path.length > MAX_LENGTH) return undefined;
  const words = path.split("/").filter((word) => word !== "");
  // A base URL that ends in the version already, or a proxy that adds its own prefix.
  while (words.length > 1 && /^(?:api|v\d)$/.test(words[0] ?? "") && /^(?:api|v\d)$/.test(words[1] ?? "")) words.shift();
  if (words.length === 0 || words.length > MAX_SEGMENTS) return undefined;
  const [first = "", ...others] = words[0] === VERSION ? words.slice(1) : words;
  const typed = [VERSION, Object.hasOwn(PATH_SYNONYMS, first) ? (PATH_SYNONYMS[first] as string) : first, ...others];
  const candidates = known.map((each) => ({ each, parts: each.split("/").slice(1) })).filter(({ parts }) => parts.length === typed.length);
  const exact = candidates.find(({ parts }) => differences(parts, typed).length === 0);
  if (exact !== undefined) return exact.each;
  const withOne = candidates.flatMap(({ each, parts }) => {
    const [at, ...more] = differences(parts, typed);
    return at === undefined || more.length > 0 ? [] : [{ each, at, part: parts[at] as string }];
  });
  for (const [at, group] of Map.groupBy(withOne, (one) => one.at)) {
    const meant = nearest(typed[at] as string, [...new Set(group.map(({ part }) => part))]);
    if (meant !== undefined) return group.find(({ part }) => part === meant)?.each;
  }
  return undefined;
}

/** The positions at which a word is not that of the path. A parameter takes any word. */
const differences = (parts: readonly string[], typed: readonly string[]): number[] =>
  parts.flatMap((part, at) => (part === typed[at] || part.startsWith("{") ? [] : [at]));

/** The problem of a request that no row of the router takes. */
export function unmatched(url: string, router: Router, paths: readonly string[]): Problem {
  const allowed = router.methodsOf(url);
  if (allowed.length > 0)
    return new Problem("method_not_allowed", { detail: `use ${allowed.join(", ")}`, headers: { allow: allowed.join(", ") } });
  const meant = similarPath(url, paths);
  return new Problem("not_found", { detail: `no such path${meant === undefined ? "; /docs/reference lists the paths" : suggest(meant)}` });
}

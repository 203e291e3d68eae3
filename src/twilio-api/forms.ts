/** The parameters of a request: a form in the body, or a query. Names may repeat, because Twilio writes lists in this way. */
import { Buffer, isUtf8 } from "node:buffer";
import { twilioProblem, unsupported } from "./errors.ts";
import { textFault } from "../http/validate.ts";

// Twilio's requests have about thirty parameters. A list, such as that of media, has ten.
const MAX_FIELDS = 100;

/** The values of each parameter, in the order of the request. A parameter without a value is absent, except those whose empty value means something. */
export type TwilioParameters = ReadonlyMap<string, readonly string[]>;

/** Parses a form or a query. Throws if it is too large for any request, or has text that cannot be stored. */
export function parseParameters(text: string): TwilioParameters {
  if (text.split("&", MAX_FIELDS + 1).length > MAX_FIELDS) throw twilioProblem(20001, `The request has more than ${MAX_FIELDS} parameters`);
  if (!hasUtf8Escapes(text)) throw twilioProblem(20001, "The value of a parameter is not UTF-8");
  const parameters = new Map<string, string[]>();
  for (const [name, value] of new URLSearchParams(text)) {
    const fault = textFault(name) ?? textFault(value);
    if (fault !== undefined) throw twilioProblem(20001, `The value of a parameter ${fault}`);
    const values = parameters.get(name);
    if (values === undefined) parameters.set(name, [value]);
    else values.push(value);
  }
  return parameters;
}

/** Whether percent escapes stand for text. Others would become U+FFFD. */
const hasUtf8Escapes = (text: string): boolean =>
  (text.match(/(?:%[89a-f][\da-f])+/gi) ?? []).every((escapes) => isUtf8(Buffer.from(escapes.replaceAll("%", ""), "hex")));

// Names come from the request and have any length.
const MAX_NAME = 40;
const MAX_NAMED = 5;

const NOTHING: ReadonlySet<string> = new Set();

/** The parameters of a list. */
export const PAGING: ReadonlySet<string> = new Set(["PageSize", "Page", "PageToken"]);

/** Throws if a parameter is not among the known ones, or a single one occurs twice. */
export function requireKnown(parameters: TwilioParameters, known = NOTHING, lists = NOTHING): void {
  const refused = [...parameters].filter(([name, values]) => !(known.has(name) && values.length === 1) && !lists.has(name));
  if (refused.length > 0) throw unsupported(refused.slice(0, MAX_NAMED).map(([name]) => name.slice(0, MAX_NAME)));
}

/** The value of a parameter. An empty value counts as absent, as with Twilio. */
export const valueOf = (parameters: TwilioParameters, name: string): string | undefined => parameters.get(name)?.[0] || undefined;

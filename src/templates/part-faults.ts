/** The parts that a message must give a WhatsApp template besides its variables: the file above the text, and the ends of the URLs. */
import type { Fault } from "../http/problem.ts";
import { URL_VARIABLE, type Template } from "./template.ts";

type GivenButton = { index: number; url_suffix?: string | null; payload?: string | null };

/** The parts that a request gives; null if it names the template only. */
export type GivenParts = { header?: { kind: string } | null; buttons?: readonly GivenButton[] | null } | null;

/** `pointer` is the position of the content in the request. */
export const partFaults = (template: Template, given: GivenParts, pointer: string): Fault[] => [
  ...headerFaults(template, given?.header ?? null, `${pointer}/header`),
  ...buttonFaults(template, given?.buttons ?? [], `${pointer}/buttons`),
];

function headerFaults({ headerMedia }: Template, header: { kind: string } | null, pointer: string): Fault[] {
  const fault = (code: string, detail: string): Fault[] => [{ pointer, code, detail }];
  if (headerMedia === null) return header === null ? [] : fault("extra_header", "is for a template with a file above its text");
  if (header === null) return fault("missing_header", `is required: the template has ${headerMedia} above its text. Send it as content`);
  return header.kind === headerMedia ? [] : fault("invalid_value", `must have the kind ${headerMedia}, as the template has it`);
}

function buttonFaults({ buttons }: Template, given: readonly GivenButton[], pointer: string): Fault[] {
  const known = buttons ?? [];
  const missing = known.flatMap(({ type, url }, index): Fault[] =>
    type === "url" && url?.endsWith(URL_VARIABLE) === true && !given.some((each) => each.index === index)
      ? [{ pointer, code: "missing_button", detail: `must have the url_suffix of button ${index}` }]
      : [],
  );
  const unfit = given.flatMap(({ index, url_suffix: suffix }, at): Fault[] => {
    const button = known[index];
    const fits = typeof suffix === "string" ? button?.url?.endsWith(URL_VARIABLE) === true : button?.type === "quick_reply";
    const wanted = typeof suffix === "string" ? `a url button that ends with ${URL_VARIABLE}` : "a quick reply";
    return fits ? [] : [{ pointer: `${pointer}/${at}`, code: "extra_button", detail: `button ${index} of the template is not ${wanted}` }];
  });
  return [...missing, ...unfit];
}

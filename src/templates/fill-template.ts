/** Fills in the variables of a template for one channel, or returns every reason why it cannot be sent. */
import { escapePointer, Problem, type Fault } from "../http/problem.ts";
import { MAX_BODY, type Channel } from "../links/channel.ts";
import { fill, variablesOf } from "./placeholders.ts";
import { MAX_HEADER, MAX_WHATSAPP_BODY, type Template } from "./template.ts";

export type Filled = { kind: "filled"; text: string };
type Variables = Readonly<Record<string, string>>;

/** Returns the body as it is sent; WhatsApp adds header, footer and buttons. All variables of the template are required, also on a channel
 *  that does not show them all, so that one request fits every channel. `pointer` locates `template_variables` in the request. */
export function fillTemplate(template: Template, variables: Variables, channel: Channel, pointer = ""): Filled | Problem {
  const place = `${pointer}/template_variables`;
  const mismatches = mismatchesOf(template, variables, place);
  if (mismatches.length > 0) return new Problem("template_variables_mismatch", { errors: mismatches });
  const text = fill(template.body, variables);
  const limits: readonly (readonly [what: string, text: string, most: number])[] =
    channel === "whatsapp"
      ? [
          ["header", fill(template.header ?? "", variables), MAX_HEADER],
          ["body", text, MAX_WHATSAPP_BODY],
        ]
      : [["body", text, MAX_BODY[channel]]];
  const tooLong = limits.flatMap(([what, filled, most]): Fault[] => {
    const length = codePoints(filled);
    if (length <= most) return [];
    return [{ pointer: place, code: "too_long", detail: `make the ${what} ${length} characters long; on ${channel} it may have ${most}` }];
  });
  return tooLong.length > 0 ? new Problem("template_text_too_long", { errors: tooLong }) : { kind: "filled", text };
}

/** Missing variables in the order of the template, then variables that the template does not have. */
function mismatchesOf(template: Template, variables: Variables, place: string): Fault[] {
  const wanted = variablesOf(template);
  const fault = (name: string, code: string, detail: string): Fault => ({ pointer: `${place}/${escapePointer(name)}`, code, detail });
  return [
    ...wanted.flatMap((name) => {
      if (!Object.hasOwn(variables, name)) return [fault(name, "missing_variable", "is a variable of the template and is required")];
      return variables[name]?.trim() === "" ? [fault(name, "empty_variable", "must not be empty or only white space")] : [];
    }),
    ...Object.keys(variables)
      .filter((name) => !wanted.includes(name))
      .map((name) => fault(name, "extra_variable", "is not a variable of the template")),
  ];
}

const codePoints = (text: string): number => Array.from(text).length;

/** Returns why a template may not be sent on a channel now; undefined when it may. */
export function usableFor(template: Template, channel: Channel, pointer = ""): Problem | undefined {
  if (template.status === "approved") return channelMismatch(template, channel, `${pointer}/template_id`);
  const detail = `the template is ${template.status}: only an approved template can be sent`;
  return new Problem("template_not_approved", {
    detail,
    errors: [{ pointer: `${pointer}/template_id`, code: "template_not_approved", detail }],
  });
}

export function channelMismatch({ channels }: Template, channel: Channel, pointer: string): Problem | undefined {
  if (channels.includes(channel)) return undefined;
  const detail = `the template supports ${channels.join(" and ")}, not ${channel}`;
  return new Problem("template_channel_mismatch", { detail, errors: [{ pointer, code: "template_channel_mismatch", detail }] });
}

/** The rules between the fields of a template, for new and for changed ones. */
import { escapePointer, Problem, type Fault } from "../http/problem.ts";
import { MAX_BODY, type Channel } from "../links/channel.ts";
import { variableFaults, variablesOf } from "./placeholders.ts";
import { MAX_TEMPLATE_RECORD_BYTES, MAX_WHATSAPP_BODY, templateRecord, type Template } from "./template.ts";

/** The content and channels of a template. Undefined stands for a value that the schema already refused. */
export type TemplateContent = {
  channels: readonly Channel[] | undefined;
  body: string | undefined;
  header: string | null;
  headerMedia: string | null;
  footer: string | null;
  buttons: readonly unknown[] | null;
  examples: Readonly<Record<string, unknown>>;
};

export function contentFaults({ channels, body, header, headerMedia, footer, buttons, examples }: TemplateContent): Fault[] {
  return [
    ...(header !== null && headerMedia !== null
      ? [{ pointer: "/header_media", code: "conflict", detail: "cannot be combined with header" }]
      : []),
    ...(channels === undefined ? [] : channelFaults(channels, { body, header, headerMedia, footer, buttons })),
    ...(body === undefined ? [] : [...variableFaults({ header, body }), ...exampleFaults(examples, variablesOf({ header, body }))]),
  ];
}

function channelFaults(
  channels: readonly Channel[],
  { body = "", header, headerMedia, footer, buttons }: Pick<TemplateContent, "body" | "header" | "headerMedia" | "footer" | "buttons">,
): Fault[] {
  if (channels.includes("whatsapp")) {
    const length = Array.from(body).length;
    // The schema refuses texts that are too long for every channel.
    if (length <= MAX_WHATSAPP_BODY || length > MAX_BODY.sms) return [];
    return [{ pointer: "/body", code: "too_long", detail: `must have at most ${MAX_WHATSAPP_BODY} characters on whatsapp` }];
  }
  return Object.entries({ header, header_media: headerMedia, footer, buttons })
    .filter(([, value]) => value !== null)
    .map(([field]) => ({ pointer: `/${field}`, code: "conflict", detail: "is for whatsapp, which is not among the channels" }));
}

const exampleFaults = (examples: Readonly<Record<string, unknown>>, variables: readonly string[]): Fault[] =>
  Object.keys(examples)
    .filter((name) => !variables.includes(name))
    .map((name) => ({
      pointer: `/examples/${escapePointer(name)}`,
      code: "unknown_variable",
      detail: "is not a variable of the template",
    }));

/** Throws the faults of a template as a whole. */
export function assertContent(template: Template): void {
  const faults = contentFaults(template);
  if (Buffer.byteLength(JSON.stringify(templateRecord({ ...template, statusReason: null }))) > MAX_TEMPLATE_RECORD_BYTES) {
    const detail = `the template as a whole must not exceed ${MAX_TEMPLATE_RECORD_BYTES} bytes; shorten examples or buttons`;
    faults.push({ pointer: "", code: "too_large", detail });
  }
  if (faults.length > 0) throw new Problem("invalid_request_payload", { errors: faults });
}

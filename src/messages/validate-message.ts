/** What would become of a request to send, without sending: what it says, in how many parts and why, which way it would take, and
 *  everything that is wrong with it. */
import { findRefusal } from "../consent/refusal.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { nullable, openEnum, Type, type Static } from "../http/schema.ts";
import { NO_RECIPIENT } from "../links/address.ts";
import { CHANNELS, SegmentsRecord, type Channel } from "../links/channel.ts";
import type { Link } from "../links/link.ts";
import type { Queryable } from "../storage/database.ts";
import { toAcceptance } from "./acceptance.ts";
import { consentProblem, type Composer, type CheckedRequest } from "./compose.ts";
import { gsm7Alternative } from "./gsm7-alternatives.ts";
import { isGsm7 } from "../lib/gsm7.ts";
import type { NewMessage } from "./new-message.ts";
import { segmentsOf } from "../lib/segments.ts";
import type { Owner } from "../storage/owner.ts";

const Text = {
  channel: nullable(openEnum(CHANNELS)),
  body: nullable(Type.String({ description: "The text as it would be sent, of a template with its variables filled in." })),
  segments: nullable(SegmentsRecord),
  ucs2_characters: Type.Array(
    Type.Object({
      character: Type.String(),
      position: Type.Integer({ description: "Counted in characters, from zero." }),
      alternative: nullable(Type.String({ description: "What the GSM alphabet has in its place." })),
    }),
    { description: "Every character that makes an SMS use UCS-2. Without them it has more than twice as much room." },
  ),
};

export const MessageValidation = Type.Object(
  {
    object: Type.Literal("message_validation"),
    valid: Type.Boolean({ description: "A request like this would be accepted now." }),
    ...Text,
    fallback: Type.Array(Type.Object(Text), { description: "The same of each step of the fallback." }),
    route: nullable(Type.Object({ provider: Type.String(), link: Type.String(), sender: nullable(Type.String()) })),
    errors: Type.Array(Type.Object({ pointer: Type.String(), code: Type.String(), detail: Type.String() }), {
      description: "Everything that is wrong: faults of the request, and rules that would refuse it.",
    }),
  },
  { title: "MessageValidation" },
);
type MessageValidation = Static<typeof MessageValidation>;

type ValidationCall = { request: NewMessage; owner: Owner; faults: readonly Fault[] };

/** `faults` are what the schema and the rules between fields have found. Where there are any, as much is told as can be. */
export async function validateMessage(
  db: Queryable,
  composer: Composer,
  { request, owner, faults }: ValidationCall,
): Promise<MessageValidation> {
  const isFaulty = faultyBy(faults);
  const isSaid = !isFaulty(...SAID);
  const checked = await composer.check(checkable(request, isFaulty), owner);
  const consent = isFaulty("recipient", "sender") ? undefined : await findConsentProblem(db, { request, owner, checked, isSaid });
  const problems = consent === undefined ? checked.problems : [...checked.problems, consent];
  // How large it gets is known only of a message that nothing else is wrong with.
  const tooLarge = faults.length + problems.length === 0 ? await sizeProblem(composer, request, owner) : undefined;
  const errors = [...faults, ...problems.flatMap(faultsOf), ...(tooLarge === undefined ? [] : faultsOf(tooLarge))].map(toError);
  const text = isSaid ? checked.content?.body : request.body;
  return {
    object: "message_validation",
    valid: errors.length === 0,
    ...textOf(CHANNELS.find((channel) => channel === request.channel) ?? null, typeof text === "string" ? text : null, checked.link),
    fallback: checked.steps.map(({ channel, content }) => textOf(channel, content.body, undefined)),
    route: checked.link === undefined ? null : { provider: checked.link.provider, link: checked.link.name, sender: checked.sender },
    errors,
  };
}

type IsFaulty = (...fields: readonly string[]) => boolean;

const faultyBy = (faults: readonly Fault[]): IsFaulty => {
  const faulty = new Set(faults.map((fault) => ("pointer" in fault ? fault.pointer.split("/")[1] : undefined)));
  return (...fields) => fields.some((field) => faulty.has(field));
};

const SAID = ["channel", "body", "template_id", "template_variables"] as const;

/** The request without what is wrong in its form, so that the rest of it can be checked: whoever is still typing the recipient sees
 *  already what the text becomes. */
const checkable = (request: NewMessage, isFaulty: IsFaulty): NewMessage => ({
  ...request,
  // Of what is said wrongly no rule has anything to say.
  ...(isFaulty(...SAID) ? { channel: "sms", body: "", template_id: null, template_variables: null } : {}),
  ...(isFaulty("recipient") ? { recipient: NO_RECIPIENT } : {}),
  ...(isFaulty("sender") ? { sender: null } : {}),
  ...(isFaulty("fallback") ? { fallback: null } : {}),
  ...(isFaulty("max_segments") ? { max_segments: null } : {}),
});

type Consent = { request: NewMessage; owner: Owner; checked: CheckedRequest; isSaid: boolean };

async function findConsentProblem(
  db: Queryable,
  { request, owner, checked: { link, sender }, isSaid }: Consent,
): Promise<Problem | undefined> {
  const { recipient, channel, template_id: template } = request;
  const isFreeWhatsApp = isSaid && channel === "whatsapp" && !template;
  const code = await findRefusal(db, { ...owner, recipient, sender, isFreeWhatsApp });
  // Whom the carrier is known to refuse is told already.
  const isTold = code === "recipient_opted_out" ? link?.unwilling.optedOut.has(recipient) : link?.unwilling.windowClosed.has(recipient);
  return code === undefined || isTold ? undefined : consentProblem(code);
}

/** What the accept says of a message, or of a step of its fallback, that is too large to travel. */
async function sizeProblem(composer: Composer, request: NewMessage, owner: Owner): Promise<Problem | undefined> {
  try {
    const composed = await composer.compose(request, owner);
    if (composed instanceof Problem) return composed;
    toAcceptance(composed);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return undefined;
}

const faultsOf = ({ code, detail, errors }: Problem): readonly Fault[] => errors ?? [{ pointer: "", code, detail }];
const toError = (fault: Fault) => ({ pointer: "pointer" in fault ? fault.pointer : "", code: fault.code, detail: fault.detail });

// As many as an SMS may have characters.
const MAX_CHARACTERS = 1_600;

function textOf(channel: Channel | null, body: string | null, link: Link | undefined): Pick<MessageValidation, keyof typeof Text> {
  const isSms = channel === "sms" && body !== null;
  return {
    channel,
    body,
    segments: isSms ? segmentsOf(body, link?.partHeaderBytes) : null,
    ucs2_characters: isSms ? beyondGsm7(body) : [],
  };
}

const beyondGsm7 = (body: string): MessageValidation["ucs2_characters"] =>
  Array.from(body)
    .flatMap((character, position) => (isGsm7(character) ? [] : [{ character, position, alternative: gsm7Alternative(character) ?? null }]))
    .slice(0, MAX_CHARACTERS);

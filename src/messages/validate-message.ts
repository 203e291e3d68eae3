/** Validates a request to send, without sending: reports its content, its segments, its route and all problems. */
import { findRefusal } from "../consent/refusal.ts";
import { Problem, type Fault } from "../http/problem.ts";
import { nullable, openEnum, Type, type Static } from "../http/schema.ts";
import { encodingOf, segmentsOf, USUAL_RULES, type Alphabet } from "../model/segments.ts";
import { NO_RECIPIENT } from "../links/address.ts";
import { CHANNELS, SegmentsRecord, type Channel } from "../links/channel.ts";
import { LINK_REASONS } from "../links/choose-links.ts";
import { LinkWeight } from "../links/strategy.ts";
import { SENDER_REASONS, type SenderChoice } from "../links/choose-sender.ts";
import type { Link } from "../links/link.ts";
import type { Queryable } from "../database/database.ts";
import type { Owner } from "../model/owner.ts";
import { toAcceptance } from "./acceptance.ts";
import { type Composer, type CheckedRequest } from "./compose.ts";
import { consentProblem } from "./refusals.ts";
import { gsm7Alternative } from "./gsm7-alternatives.ts";
import type { NewMessage } from "./new-message.ts";

const FaultRecord = Type.Object({
  pointer: Type.String({ description: "The invalid value, as a JSON pointer." }),
  code: Type.String({ description: "The stable code of the fault." }),
  detail: Type.String({ description: "An explanation for people." }),
});

const Text = {
  channel: nullable(openEnum(CHANNELS, "The channel. Null if it is not valid.")),
  body: nullable(Type.String({ description: "The text that would be sent. For a template, with its variables filled in." })),
  segments: nullable(SegmentsRecord),
  ucs2_characters: Type.Array(
    Type.Object({
      character: Type.String({ description: "The character." }),
      position: Type.Integer({ description: "The position in the text, in characters from zero." }),
      alternative: nullable(Type.String({ description: "A similar character of the GSM alphabet, if there is one." })),
    }),
    { description: "Every character that forces the SMS to use UCS-2. Without them, a segment holds more than twice as many characters." },
  ),
};

export const MessageValidation = Type.Object(
  {
    object: Type.Literal("message_validation"),
    valid: Type.Boolean({ description: "Whether this message would be accepted now." }),
    ...Text,
    fallback: Type.Array(Type.Object(Text), { description: "The same for each step of the fallback." }),
    route: nullable(
      Type.Object(
        {
          provider: Type.String({ description: "The provider of the link." }),
          link: Type.String({ description: "The link that would be used." }),
          link_reason: openEnum(LINK_REASONS, "Why this link would be used."),
          links: nullable(
            Type.Array(LinkWeight, {
              description:
                "The links of the route in the order of delivery, with their numbers, if it [chooses by quality or price](/docs/routing#choose-by-quality-or-price).",
            }),
          ),
          sender: nullable(Type.String({ description: "The sender that would be used. Null if the carrier chooses." })),
          sender_reason: nullable(openEnum(SENDER_REASONS, "Why this sender would be used.")),
        },
        { description: "The route of the message. Null if there is none." },
      ),
    ),
    errors: Type.Array(FaultRecord, {
      description: "All faults of the request, and all rules that would refuse it.",
    }),
  },
  { title: "MessageValidation", description: "The result of a validation." },
);
type MessageValidation = Static<typeof MessageValidation>;

type ValidationCall = { request: NewMessage; owner: Owner; faults: readonly Fault[] };

/** `faults` are the faults that the schema and the rules between fields have found. The result contains everything that can be determined
 *  in spite of them. */
export async function validateMessage(
  db: Queryable,
  composer: Composer,
  { request, owner, faults }: ValidationCall,
): Promise<MessageValidation> {
  const isFaulty = faultyFields(faults);
  const hasContent = !isFaulty(...CONTENT_FIELDS);
  const sound = checkable(request, isFaulty);
  const checked = await composer.check(sound, owner);
  const consent = isFaulty("recipient", "sender")
    ? undefined
    : await findConsentProblem(db, { request, owner, checked, hasContent, nowMs: composer.now() });
  const problems = consent === undefined ? checked.problems : [...checked.problems, consent];
  // The size is known only if the message has no other problem.
  const tooLarge = faults.length + problems.length === 0 ? await sizeProblem(composer, request, owner) : undefined;
  const errors = [...faults, ...problems.flatMap(problemFaults), ...(tooLarge === undefined ? [] : problemFaults(tooLarge))].map(toError);
  const text = hasContent ? checked.content?.body : request.body;
  return {
    object: "message_validation",
    valid: errors.length === 0,
    ...describeText(
      CHANNELS.find((channel) => channel === request.channel) ?? null,
      typeof text === "string" ? text : null,
      checked.route?.link,
    ),
    fallback: checked.steps.map(({ channel, content }) => {
      const link = composer.linkFor({ ...owner, ...sound, channel, sender: null });
      return describeText(channel, content.body, link instanceof Problem ? undefined : link.link);
    }),
    route: routeRecord(checked),
    errors,
  };
}

type IsFaulty = (...fields: readonly string[]) => boolean;

const faultyFields = (faults: readonly Fault[]): IsFaulty => {
  const faulty = new Set(faults.map((fault) => ("pointer" in fault ? fault.pointer.split("/")[1] : undefined)));
  return (...fields) => fields.some((field) => faulty.has(field));
};

const CONTENT_FIELDS = ["channel", "body", "template_id", "template_variables", "content"] as const;

/** The request without its faulty fields, so that the others can be checked: a person who is still typing the recipient already sees the
 *  segments of the text. */
const checkable = (request: NewMessage, isFaulty: IsFaulty): NewMessage => ({
  ...request,
  // No rule applies to faulty content.
  ...(isFaulty(...CONTENT_FIELDS) ? { channel: "sms", body: "", template_id: null, template_variables: null, content: null } : {}),
  ...(isFaulty("recipient") ? { recipient: NO_RECIPIENT } : {}),
  ...(isFaulty("sender") ? { sender: null } : {}),
  ...(isFaulty("reply_to") ? { reply_to: null } : {}),
  ...(isFaulty("fallback") ? { fallback: null } : {}),
  ...(isFaulty("max_segments") ? { max_segments: null } : {}),
  ...(isFaulty("carrier_options") ? { carrier_options: null } : {}),
});

const routeRecord = ({ route, sender, senderReason }: CheckedRequest & SenderChoice): MessageValidation["route"] =>
  route === undefined
    ? null
    : {
        provider: route.link.provider,
        link: route.link.name,
        link_reason: route.linkReason,
        links: route.weights === undefined ? null : [...route.weights],
        sender,
        sender_reason: senderReason,
      };

type ConsentQuery = { request: NewMessage; owner: Owner; checked: CheckedRequest & SenderChoice; hasContent: boolean; nowMs: number };

async function findConsentProblem(
  db: Queryable,
  { request, owner, checked: { route, sender }, hasContent, nowMs }: ConsentQuery,
): Promise<Problem | undefined> {
  const { recipient, channel, template_id: template } = request;
  const isFreeWhatsApp = hasContent && channel === "whatsapp" && !template;
  const code = await findRefusal(db, { ...owner, recipient, sender, isFreeWhatsApp }, nowMs);
  // The check has already reported a recipient that the carrier is known to refuse.
  const unwilling = route?.link.unwilling;
  const isReported = code === "recipient_opted_out" ? unwilling?.optedOut.has(recipient) : unwilling?.windowClosed.has(recipient);
  return code === undefined || isReported ? undefined : consentProblem(code);
}

/** Returns the problem of a message or fallback step whose record is too large for an event. */
async function sizeProblem(composer: Composer, request: NewMessage, owner: Owner): Promise<Problem | undefined> {
  try {
    const composed = await composer.compose(request, owner, { isTrial: true });
    if (composed instanceof Problem) return composed;
    toAcceptance(composed);
  } catch (error) {
    if (error instanceof Problem) return error;
    throw error;
  }
  return undefined;
}

const problemFaults = ({ code, detail, errors }: Problem): readonly Fault[] => errors ?? [{ pointer: "", code, detail }];
const toError = (fault: Fault) => ({ pointer: "pointer" in fault ? fault.pointer : "", code: fault.code, detail: fault.detail });

// The number of characters that an SMS may have.
const MAX_CHARACTERS = 1_600;

function describeText(channel: Channel | null, body: string | null, link: Link | undefined): Pick<MessageValidation, keyof typeof Text> {
  if (channel !== "sms" || body === null) return { channel, body, segments: null, ucs2_characters: [] };
  const rules = link?.segmentRules ?? USUAL_RULES;
  const segments = segmentsOf(body, rules);
  return { channel, body, segments, ucs2_characters: segments.encoding === "ucs2" ? ucs2Characters(body, rules.alphabet) : [] };
}

function ucs2Characters(body: string, alphabet: Alphabet): MessageValidation["ucs2_characters"] {
  // A text repeats its characters, and the search for an alternative takes microseconds.
  const alternatives = new Map<string, string | null>();
  const found: MessageValidation["ucs2_characters"] = [];
  for (const [position, character] of Array.from(body).entries()) {
    if (found.length === MAX_CHARACTERS) break;
    if (encodingOf(character, alphabet) === "gsm7") continue;
    let alternative = alternatives.get(character);
    if (alternative === undefined) alternatives.set(character, (alternative = gsm7Alternative(character) ?? null));
    found.push({ character, position, alternative });
  }
  return found;
}

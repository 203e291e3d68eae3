/** Parses the response of a client to an inbound message: TwiML, of which the verbs of messages are understood. */
import { SaxesParser } from "saxes";

/** A message to send. Absent addresses are those of the conversation. */
export type TwimlMessage = {
  body: string;
  media: readonly string[];
  to: string | null;
  from: string | null;
  statusCallback: string | null;
};

/** The messages in their order. `redirect`: the rest of the response is at another URL. */
export type Twiml = { messages: TwimlMessage[]; redirect: { url: string; method: "GET" | "POST" } | undefined };

// More verbs than a person wants replies.
const MAX_VERBS = 10;
const MAX_DEPTH = 3;

/** The attributes of each element. An attribute that is not among them would be ignored, so it is refused. */
const ATTRIBUTES: Readonly<Record<string, readonly string[]>> = {
  Response: [],
  Message: ["to", "from", "action", "method", "statusCallback"],
  Sms: ["to", "from", "action", "method", "statusCallback"],
  Body: [],
  Media: [],
  Redirect: ["method"],
};

/** The elements that each element can contain. */
const CHILDREN: Readonly<Record<string, readonly string[]>> = {
  "": ["Response"],
  Response: ["Message", "Sms", "Redirect"],
  Message: ["Body", "Media"],
};

type Element = { name: string; attributes: Readonly<Record<string, string>>; text: string };

/** Returns the verbs, or what is wrong with the text. An empty response, with or without TwiML, has no verbs. */
export function parseTwiml(text: string): Twiml | Error {
  if (text.trim() === "") return { messages: [], redirect: undefined };
  try {
    return new Reader().read(text.trimStart());
  } catch (error) {
    return error as Error;
  }
}

const refuse = (detail: string): never => {
  throw new Error(detail);
};

class Reader {
  readonly #twiml: Twiml = { messages: [], redirect: undefined };
  #verbs = 0;
  readonly #open: Element[] = [];
  #bodies: string[] = [];
  #media: string[] = [];

  read(text: string): Twiml {
    const parser = new SaxesParser();
    // A document type can define entities.
    parser.on("doctype", () => refuse("the response has a document type"));
    parser.on("opentag", ({ name, attributes }) => this.#begin(name, attributes));
    parser.on("closetag", () => this.#end());
    parser.on("text", (piece) => this.#append(piece));
    parser.on("cdata", (piece) => this.#append(piece));
    parser.on("error", () => refuse("the response is not XML"));
    parser.write(text).close();
    return this.#twiml;
  }

  #begin(name: string, attributes: Readonly<Record<string, string>>): void {
    const parent = this.#open.at(-1)?.name ?? "";
    if (!(CHILDREN[parent] ?? []).includes(name))
      refuse(`<${name.slice(0, 40)}> is not supported${parent === "" ? "" : ` in <${parent}>`}`);
    const unknown = Object.keys(attributes).find((each) => !(ATTRIBUTES[name] ?? []).includes(each));
    if (unknown !== undefined) refuse(`the attribute ${unknown.slice(0, 40)} of <${name}> is not supported`);
    if (this.#open.length >= MAX_DEPTH || this.#verbs >= MAX_VERBS) refuse(`the response has more than ${MAX_VERBS} verbs`);
    this.#open.push({ name, attributes, text: "" });
  }

  #append(piece: string): void {
    const element = this.#open.at(-1);
    if (element !== undefined) element.text += piece;
  }

  #end(): void {
    const { name, attributes, text: raw } = this.#open.pop() as Element;
    const text = raw.trim();
    if (name === "Body") this.#bodies.push(text);
    else if (name === "Media") this.#media.push(text);
    else if (name === "Redirect") this.#endRedirect(methodOf(attributes), text);
    else if (name === "Response" && text !== "") refuse("<Response> has text outside of its verbs");
    else if (name !== "Response") this.#endMessage(attributes, text);
  }

  #endRedirect(method: "GET" | "POST", url: string): void {
    this.#verbs += 1;
    this.#twiml.redirect ??= { url, method };
  }

  #endMessage(attributes: Readonly<Record<string, string>>, text: string): void {
    const { to = null, from = null, statusCallback = null, action = null } = attributes;
    if (methodOf(attributes) !== "POST") refuse("status callbacks are sent by POST only");
    if (this.#bodies.length > 1 || (this.#bodies.length === 1 && text !== "")) refuse("<Message> has several bodies");
    const [body = text] = this.#bodies;
    if (body === "" && this.#media.length === 0) refuse("<Message> has no body");
    this.#verbs += 1;
    // A client never reaches the verbs behind a redirect.
    if (this.#twiml.redirect === undefined)
      this.#twiml.messages.push({ body, media: this.#media, to, from, statusCallback: statusCallback ?? action });
    this.#bodies = [];
    this.#media = [];
  }
}

function methodOf({ method = "POST" }: Readonly<Record<string, string>>): "GET" | "POST" {
  const upper = method.toUpperCase();
  return upper === "GET" || upper === "POST" ? upper : refuse("a method must be GET or POST");
}

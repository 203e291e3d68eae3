/** Parses XML into the tree that paths are looked up in: the child elements of one name are a list, attributes are `@name`, and the text is
 *  `#text`. Names have no prefixes, which a carrier may choose anew with each document. */
import { SaxesParser } from "saxes";
import { CARRIER_LIMITS } from "../carrier-fields.ts";

/** The child elements of one name. A step of a path into it applies to each of them. */
export class XmlElements extends Array<XmlElement> {}
export type XmlElement = { [name: string]: XmlElements | string };

// 256 kB take up to 60 ms, and 64 kB, which responses and callbacks have at most, up to 20 ms.
const MAX_CHARS = 262_144;
const TEXT = "#text";

const localName = (name: string): string => name.slice(name.indexOf(":") + 1);

/** Returns undefined for other texts, for one that exceeds the limits of carriers, and for one with a document type, which can define entities. */
export function parseXml(text: string): XmlElement | undefined {
  if (text.length > MAX_CHARS) return undefined;
  try {
    return new TreeBuilder().build(text);
  } catch {
    return undefined;
  }
}

class TreeBuilder {
  // Without a prototype, an element can have any name.
  readonly #root = Object.create(null) as XmlElement;
  /** The elements that are not closed yet, from the root. */
  readonly #open: XmlElement[] = [this.#root];
  #values = 0;

  build(text: string): XmlElement {
    const parser = new SaxesParser();
    parser.on("doctype", () => this.#refuse("a document type"));
    parser.on("opentag", ({ name, attributes }) => this.#begin(localName(name), attributes));
    parser.on("closetag", () => this.#end());
    parser.on("text", (piece) => this.#append(piece));
    parser.on("cdata", (piece) => this.#append(piece));
    // A carrier's library may write a byte order mark or an empty line before the declaration.
    parser.write(text.trimStart()).close();
    return this.#root;
  }

  #refuse(detail: string): never {
    throw new Error(detail);
  }

  #begin(name: string, attributes: Readonly<Record<string, string>>): void {
    const element = Object.create(null) as XmlElement;
    element[TEXT] = "";
    this.#values += 1;
    for (const [attribute, value] of Object.entries(attributes)) {
      element[`@${localName(attribute)}`] = value;
      this.#values += 1;
    }
    const parent = this.#open.at(-1) as XmlElement;
    const { [name]: siblings } = parent;
    if (siblings instanceof XmlElements) siblings.push(element);
    else parent[name] = XmlElements.of(element);
    this.#open.push(element);
    if (this.#open.length > CARRIER_LIMITS.maxDepth || this.#values > CARRIER_LIMITS.maxValues) this.#refuse("too much");
  }

  #end(): void {
    const element = this.#open.pop() as XmlElement;
    // Carriers write line breaks around texts.
    element[TEXT] = (element[TEXT] as string).trim();
  }

  #append(piece: string): void {
    const element = this.#open.at(-1) as XmlElement;
    // White space around the root has no element.
    if (element !== this.#root) element[TEXT] = (element[TEXT] as string) + piece;
  }
}

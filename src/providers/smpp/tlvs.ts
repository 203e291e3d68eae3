/** Optional parameters that the settings of a link or the options of a message add to a submit_sm, such as the ids that India's
 *  registration of texts (DLT) requires. */
import type { CarrierOptions, OptionFault } from "../provider.ts";
import { TLV, type Tlvs } from "./pdu.ts";

export const TLV_TYPES = ["string", "int8", "int16", "int32", "hex"] as const;
type TlvSetting = { tag: number; type: (typeof TLV_TYPES)[number]; value: string | number };

export type TlvSettings = {
  /** Added to every submit_sm. */
  tlvs: readonly TlvSetting[];
  /** The tags that a message may set. */
  messageTlvs: readonly number[];
  dltEntityId?: string;
  /** Used if a message has none. */
  dltTemplateId?: string;
};

const DLT_ENTITY_ID = 0x1400;
const DLT_TEMPLATE_ID = 0x1401;

/** The options of a message that concern its parameters. */
type TlvOptions = { tlvs?: readonly TlvSetting[]; dlt_template_id?: string };

// No parameter that a carrier asks for is as long.
const MAX_BYTES = 255;
const INT_BYTES = { int8: 1, int16: 2, int32: 4 } as const;

/** The parameters by which this service transmits the text itself. */
const OWN_TAGS: ReadonlySet<number> = new Set([TLV.messagePayload, TLV.sarReference, TLV.sarTotal, TLV.sarNumber]);

const tagName = (tag: number): string => `0x${tag.toString(16).toUpperCase().padStart(4, "0")}`;

/** Returns what is wrong with a parameter, in words. */
function findTlvFault({ tag, type, value }: TlvSetting): string | undefined {
  if (OWN_TAGS.has(tag)) return `${tagName(tag)} is set by the service itself`;
  if (type === "string" || type === "hex") {
    if (typeof value !== "string") return `${tagName(tag)} must have a text`;
    if (type === "hex" && !/^(?:[0-9a-f]{2})+$/i.test(value)) return `${tagName(tag)} must have bytes in hexadecimal`;
    return toBytes({ tag, type, value }).length > MAX_BYTES ? `${tagName(tag)} must have at most ${MAX_BYTES} bytes` : undefined;
  }
  const most = 2 ** (8 * INT_BYTES[type]) - 1;
  const isInRange = typeof value === "number" && Number.isInteger(value) && value >= 0 && value <= most;
  return isInRange ? undefined : `${tagName(tag)} must have an integer from 0 to ${most}`;
}

/** Returns the faults of the link's own parameters. */
export function findTlvFaults({ tlvs, messageTlvs }: TlvSettings): string[] {
  const own = tlvs.flatMap((tlv) => findTlvFault(tlv) ?? []);
  const permitted = messageTlvs.filter((tag) => OWN_TAGS.has(tag)).map((tag) => `${tagName(tag)} is set by the service itself`);
  return [...own.map((fault) => `tlvs: ${fault}`), ...permitted.map((fault) => `message_tlvs: ${fault}`)];
}

/** Returns the faults of a message's parameters, with pointers into its options. */
export const findTlvOptionFaults = (options: CarrierOptions, { messageTlvs }: TlvSettings): OptionFault[] =>
  ((options as TlvOptions).tlvs ?? []).flatMap((tlv, index) => {
    const pointer = `/tlvs/${index}`;
    if (!messageTlvs.includes(tlv.tag))
      return [
        { pointer: `${pointer}/tag`, code: "not_allowed", detail: `the link does not allow the tag ${tagName(tlv.tag)} in messages` },
      ];
    const fault = findTlvFault(tlv);
    return fault === undefined ? [] : [{ pointer: `${pointer}/value`, code: "invalid_value", detail: fault }];
  });

/** The parameters of a message: those of the link, replaced by those of the message. */
export function tlvsOf({ tlvs, dltEntityId, dltTemplateId }: TlvSettings, options: CarrierOptions): Tlvs {
  const { tlvs: own = [], dlt_template_id: template = dltTemplateId } = options as TlvOptions;
  const text = (tag: number, value: string | undefined): TlvSetting[] => (value === undefined ? [] : [{ tag, type: "string", value }]);
  const all = [...tlvs, ...text(DLT_ENTITY_ID, dltEntityId), ...text(DLT_TEMPLATE_ID, template), ...own];
  return new Map(all.map((tlv) => [tlv.tag, toBytes(tlv)]));
}

function toBytes({ type, value }: TlvSetting): Buffer {
  if (type === "string") return Buffer.from(String(value), "utf8");
  if (type === "hex") return Buffer.from(String(value), "hex");
  const bytes = Buffer.alloc(INT_BYTES[type]);
  bytes.writeUIntBE(Number(value), 0, bytes.length);
  return bytes;
}

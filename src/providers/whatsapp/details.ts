/** The contents of an inbound message besides its text: ids of media, a place, cards of contacts, the ids of chosen buttons, the answers of a Flow. */
import { asObject, detailsOf, type JsonObject } from "../carrier-fields.ts";

const media = ({ id, mime_type: mimeType, url, filename }: JsonObject): JsonObject => ({
  media_id: id,
  media_type: mimeType,
  media_url: url,
  filename,
});

const BY_TYPE: Readonly<Record<string, (content: JsonObject, message: JsonObject) => JsonObject>> = {
  image: media,
  video: media,
  audio: media,
  document: media,
  sticker: media,
  location: ({ latitude, longitude, name, address, url }) => ({ latitude, longitude, name, address, url }),
  contacts: (_, message) => ({ contacts: asJson(message["contacts"]) }),
  order: (content) => ({ order: asJson(content) }),
  button: ({ payload }) => ({ payload }),
  interactive: (content) => {
    const { name, response_json: answers } = asObject(content["nfm_reply"]);
    const chosen = asObject(content["button_reply"] ?? content["list_reply"]);
    return { payload: chosen["id"], flow: name, flow_response: typeof answers === "object" ? asJson(answers) : answers };
  },
};

const asJson = (value: unknown): string | undefined => (value === undefined || value === null ? undefined : JSON.stringify(value));

/** The details by their names, such as `media_id`. None for a text outside of a group. */
export function messageDetails(message: JsonObject): { details?: Record<string, string> } {
  const { type, group_id: groupId } = message;
  const read = typeof type === "string" && Object.hasOwn(BY_TYPE, type) ? BY_TYPE[type] : undefined;
  const details = read === undefined ? {} : { type, ...read(asObject(message[type as string]), message) };
  return detailsOf({ ...details, group_id: groupId });
}

/** A WhatsApp link to the fake Cloud API. */
import { whatsapp, WHATSAPP_DEFAULTS, type WhatsAppSettings } from "../../../src/providers/whatsapp/whatsapp.ts";
import type { Connection, Outgoing, SendOutcome } from "../../../src/providers/provider.ts";
import { mayLeave, outgoing, RecordingHost, settled, type OutgoingFields } from "../recording-host.ts";
import { FakeGraph, GRAPH_SECRETS, PHONE_NUMBER_ID } from "./graph.ts";

const never = new AbortController().signal;
/** The default recipient. */
export const TO = "+4915112345678";
export const ANOTHER = "+4915112345679";

type Rig = { graph: FakeGraph; connection: Connection; host: RecordingHost };

export async function onLink(run: (rig: Rig) => Promise<void>, fields: Partial<WhatsAppSettings> = {}): Promise<void> {
  const graph = await new FakeGraph().listen();
  const host = new RecordingHost();
  const settings = {
    ...WHATSAPP_DEFAULTS,
    ...GRAPH_SECRETS,
    baseUrl: graph.url,
    phoneNumberId: PHONE_NUMBER_ID,
    wabaId: null,
    messagesPerSecond: 1_000,
    ...fields,
  };
  const connection = await whatsapp.open(settings, host);
  try {
    await run({ graph, connection, host });
  } finally {
    await settled(connection.close(), "close");
    await graph.close();
  }
}

export const message = (fields: OutgoingFields = {}): Outgoing => outgoing({ channel: "whatsapp", recipient: TO, ...fields });

export const send = (connection: Connection, fields: OutgoingFields = {}): Promise<SendOutcome> =>
  settled(connection.send(message(fields), never, mayLeave), "a send");

import { whatsapp, WHATSAPP_DEFAULTS, type WhatsAppSettings } from "../../src/providers/whatsapp/whatsapp.ts";
import { FakeGraph, GRAPH_SECRETS, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { CallbackServer, HttpCarrierServer, withCarrier } from "../support/fakes/http-carrier.ts";
import { RECIPIENTS, REPLYING_RECIPIENT } from "../support/recipient.ts";
import { describeProvider } from "../support/provider-conformance.ts";

const settingsFor = (baseUrl: string): WhatsAppSettings => ({
  ...WHATSAPP_DEFAULTS,
  ...GRAPH_SECRETS,
  baseUrl,
  phoneNumberId: PHONE_NUMBER_ID,
  wabaId: null,
  messagesPerSecond: 10_000,
});

describeProvider({
  name: "whatsapp",
  channels: ["whatsapp"],
  open: async (host) => {
    const graph = await new FakeGraph().listen();
    const settings = settingsFor(graph.url);
    const callbacks = await CallbackServer.open(
      (request) => whatsapp.handleRequest?.(settings, request, host) ?? Promise.reject(new Error("no response")),
    );
    graph.webhookUrl = callbacks.url();
    return withCarrier(await whatsapp.open(settings, host), graph, callbacks);
  },
  openMute: async (host) => {
    const silent = await new HttpCarrierServer().listen();
    return withCarrier(await whatsapp.open(settingsFor(silent.url), host), silent);
  },
  recipients: { ...RECIPIENTS, replies: REPLYING_RECIPIENT },
  givesReferenceBack: true,
});

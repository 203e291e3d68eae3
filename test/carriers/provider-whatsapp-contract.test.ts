import { whatsapp, type WhatsAppSettings } from "../../src/providers/whatsapp/whatsapp.ts";
import { FakeGraph, GRAPH_RECIPIENTS, GRAPH_SECRETS, PHONE_NUMBER_ID } from "../support/fakes/graph.ts";
import { CallbackServer, withCarrier } from "../support/fakes/http-carrier.ts";
import { describeProvider } from "../support/provider-conformance.ts";

const settingsFor = (baseUrl: string): WhatsAppSettings => ({
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
    const graph = await FakeGraph.start();
    const settings = settingsFor(graph.url);
    const callbacks = await CallbackServer.open(
      (request) => whatsapp.handleRequest?.(settings, request, host) ?? Promise.reject(new Error("no response")),
    );
    graph.webhookUrl = callbacks.url();
    return withCarrier(await whatsapp.open(settings, host), graph, callbacks);
  },
  openMute: async (host) => {
    const graph = await FakeGraph.start();
    for (const recipient of Object.values(GRAPH_RECIPIENTS)) graph.behaviors.set(recipient, { kind: "is silent" });
    return withCarrier(await whatsapp.open(settingsFor(graph.url), host), graph);
  },
  recipients: GRAPH_RECIPIENTS,
  givesReferenceBack: true,
});

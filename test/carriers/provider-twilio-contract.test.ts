import { twilio, TWILIO_DEFAULTS, type TwilioSettings } from "../../src/providers/twilio/twilio.ts";
import { CallbackServer, HttpCarrierServer, withCarrier } from "../support/fakes/http-carrier.ts";
import { FakeTwilio, TWILIO_SECRETS } from "../support/fakes/twilio.ts";
import { RECIPIENTS } from "../support/recipient.ts";
import { describeProvider } from "../support/provider-conformance.ts";

const settingsFor = (baseUrl: string, statusCallbackUrl: string | null): TwilioSettings => ({
  ...TWILIO_DEFAULTS,
  ...TWILIO_SECRETS,
  baseUrl,
  statusCallbackUrl,
  messagingServiceSid: "MG01",
  partsPerSecond: 10_000,
});

describeProvider({
  name: "twilio",
  channels: ["sms"],
  open: async (host) => {
    const carrier = await new FakeTwilio().listen();
    const callbacks: CallbackServer = await CallbackServer.open(
      (request) =>
        twilio.handleRequest?.(settingsFor(carrier.url, callbacks.url()), request, host) ?? Promise.reject(new Error("no response")),
    );
    return withCarrier(await twilio.open(settingsFor(carrier.url, callbacks.url()), host), carrier, callbacks);
  },
  openMute: async (host) => {
    const silent = await new HttpCarrierServer().listen();
    return withCarrier(await twilio.open(settingsFor(silent.url, null), host), silent);
  },
  recipients: RECIPIENTS,
  givesReferenceBack: true,
});

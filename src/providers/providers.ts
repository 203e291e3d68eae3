/** All providers, by name. */
import { http } from "./http/http.ts";
import { simulator } from "./simulator/simulator.ts";
import { smpp } from "./smpp/smpp.ts";
import { twilio } from "./twilio/twilio.ts";
import { whatsapp } from "./whatsapp/whatsapp.ts";

export const PROVIDERS = { http, simulator, smpp, twilio, whatsapp } as const;

export type ProviderName = keyof typeof PROVIDERS;

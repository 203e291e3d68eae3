/** All providers, by name. */
import { simulator } from "./simulator/simulator.ts";
import { smpp } from "./smpp/smpp.ts";
import { twilio } from "./twilio/twilio.ts";
import { whatsapp } from "./whatsapp/whatsapp.ts";

export const PROVIDERS = { simulator, smpp, twilio, whatsapp } as const;

export type ProviderName = keyof typeof PROVIDERS;

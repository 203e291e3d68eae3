import { simulator } from "../../src/providers/simulator/simulator.ts";
import { describeProvider } from "../support/provider-conformance.ts";

describeProvider({
  name: "the simulator",
  channels: ["sms", "whatsapp"],
  open: (host) => simulator.open({ speed: 20 }, host),
  // A response takes more than a minute.
  openMute: (host) => simulator.open({ speed: 1 / 5_000 }, host),
  recipients: {
    delivered: "+15005550006",
    undelivered: "+15005550005",
    refused: "+15005550002",
    throttled: "+15005550012",
    unknown: "+15005550013",
    replies: "+15005550008",
  },
  givesReferenceBack: true,
});

/** godwit serve: the service, until it is told to stop. */
import { readConfig } from "../config.ts";
import { createLog } from "../lib/log.ts";
import { startService, type Service } from "../service.ts";
import type { Command } from "./command.ts";
import { say } from "./say.ts";

export const serve: Command = {
  name: "serve",
  usage: ["serve [settings]"],
  flags: {},
  async run({ flags }) {
    const config = readConfig(flags, "serve");
    const output = createLog(config.log);
    const { log, flush } = output;
    const stopped = stopSignal();
    try {
      const service = await startService(config, output, say);
      say(welcome(service));
      process.on("SIGHUP", () => reload(service));
      const signal = await stopped;
      log.info({ signal }, "stopping");
      await service.stop();
      log.info("stopped");
    } finally {
      flush();
    }
  },
};

/** The first signal stops gracefully. A second one is from somebody who will not wait. */
function stopSignal(): Promise<string> {
  return new Promise((resolve) => {
    for (const signal of ["SIGTERM", "SIGINT"] as const) {
      process.once(signal, () => {
        process.once(signal, () => process.exit(1));
        resolve(signal);
      });
    }
  });
}

function reload(service: Service): void {
  try {
    say(service.reloadTls() ? "certificate reloaded" : "nothing to reload: no certificate is configured");
  } catch (error) {
    say(`the certificate was not reloaded, the old one stays: ${(error as Error).message}`);
  }
}

function welcome({ url, firstKey }: Service): string {
  const listening = `Godwit listens on ${url}  (reference: ${url}/docs)`;
  if (firstKey === undefined) return listening;
  return `${listening}

This test key is shown once. It sends nothing to anyone:

  export GODWIT_KEY=${firstKey}

Send a first message:

  curl -sS ${url}/v1/messages \\
    -H "Authorization: Bearer $GODWIT_KEY" \\
    -H "Idempotency-Key: $(cat /proc/sys/kernel/random/uuid)" \\
    -H "Content-Type: application/json" \\
    -d '{"recipient":"+14155550123","channel":"sms","body":"Hello from Godwit"}'
`;
}

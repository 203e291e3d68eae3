/** A real Kannel of Debian: bearerbox and smsbox with one SMPP carrier, for comparisons with our Kannel API. */
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { until } from "../expect.ts";
import { freePort } from "../free-port.ts";

export const KANNEL_PROGRAM = "/usr/sbin/bearerbox";
const SMSBOX = "/usr/sbin/smsbox";

export type KannelOptions = {
  /** The port of the SMPP carrier. */
  carrierPort: number;
  userName: string;
  password: string;
  getUrl: string;
  statusPassword: string;
};

export class Kannel {
  readonly sendsmsUrl: string;
  readonly adminUrl: string;
  readonly #processes: ChildProcess[] = [];
  readonly #folder = mkdtempSync(join(tmpdir(), "godwit-kannel-"));

  private constructor(sendsmsPort: number, adminPort: number) {
    this.sendsmsUrl = `http://127.0.0.1:${sendsmsPort}`;
    this.adminUrl = `http://127.0.0.1:${adminPort}`;
  }

  static async start(options: KannelOptions): Promise<Kannel> {
    const [admin, smsbox, sendsms] = [await freePort(), await freePort(), await freePort()];
    const kannel = new Kannel(sendsms, admin);
    const file = join(kannel.#folder, "kannel.conf");
    writeFileSync(file, configOf(options, { admin, smsbox, sendsms }));
    kannel.#run(KANNEL_PROGRAM, file);
    await kannel.#answers(`${kannel.adminUrl}/status.txt?password=${options.statusPassword}`);
    kannel.#run(SMSBOX, file);
    await kannel.#answers(`${kannel.sendsmsUrl}/none`);
    return kannel;
  }

  #run(program: string, file: string): void {
    this.#processes.push(spawn(program, ["-v", "4", file], { stdio: "ignore", cwd: this.#folder }));
  }

  #answers(url: string): Promise<number> {
    return until(`a response of ${url}`, () =>
      fetch(url).then(
        ({ status }) => status,
        () => undefined,
      ),
    );
  }

  /** The whole status in the form of text. */
  async status(password: string, form = "txt"): Promise<string> {
    return (await fetch(`${this.adminUrl}/status.${form}?password=${password}`)).text();
  }

  async stop(): Promise<void> {
    for (const child of this.#processes.toReversed()) {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      if (child.exitCode === null && child.kill("SIGKILL")) await ended;
    }
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

type Ports = { admin: number; smsbox: number; sendsms: number };

const configOf = ({ carrierPort, userName, password, getUrl, statusPassword }: KannelOptions, ports: Ports): string => `
group = core
admin-port = ${ports.admin}
admin-password = of-the-administrator
status-password = ${statusPassword}
smsbox-port = ${ports.smsbox}
box-allow-ip = 127.0.0.1
dlr-storage = internal

group = smsc
smsc = smpp
smsc-id = carrier
host = 127.0.0.1
port = ${carrierPort}
transceiver-mode = true
smsc-username = kannel
smsc-password = secret
system-type = ""
source-addr-autodetect = yes
dest-addr-ton = 1
dest-addr-npi = 1

group = smsbox
bearerbox-host = 127.0.0.1
sendsms-port = ${ports.sendsms}

group = sendsms-user
username = ${userName}
password = ${password}
max-messages = 10
concatenation = true

group = sms-service
keyword = default
catch-all = true
max-messages = 0
get-url = "${getUrl}"
`;

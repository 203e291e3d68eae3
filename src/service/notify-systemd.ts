/** Tells systemd that the node listens, in a unit with `Type=notify`: until then `systemctl start` waits, and it fails if the node ends. Node has no
 *  datagram sockets of Unix, so a program of systemd sends the message. */
import { spawn } from "node:child_process";
import { environmentVariables } from "../config.ts";
import type { Log } from "../model/log.ts";

const PROGRAM = "systemd-notify";

/** Does nothing without systemd. */
export function notifySystemd(log: Log): void {
  const { NOTIFY_SOCKET, PATH } = environmentVariables();
  if (NOTIFY_SOCKET === undefined) return;
  const warn = (reason: string): void =>
    log.warn({ event: "service.not_notified", reason }, "systemd was not notified, and takes the service to be starting");
  const child = spawn(PROGRAM, ["--ready"], { env: { NOTIFY_SOCKET, PATH }, stdio: "ignore" });
  child.once("error", ({ message }) => warn(message));
  child.once("exit", (code, signal) => {
    if (code !== 0) warn(`${PROGRAM} ended with ${code ?? signal}`);
  });
}

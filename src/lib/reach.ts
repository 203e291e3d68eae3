/** Whether something listens at an address, and can show a certificate: a connection that is closed again without a word. */
import { connect as connectPlain, isIP } from "node:net";
import { connect as connectTls } from "node:tls";

export type Address = {
  host: string;
  port: number;
  isTls: boolean;
  /** The name in the certificate, where that is not the host. */
  serverName?: string | null;
  /** A certificate in PEM to trust in place of the well-known ones. */
  ca?: string | null;
};

/** Undefined when it was reached; otherwise why not. Never throws. */
export function reach({ host, port, isTls, serverName, ca }: Address, timeoutMs: number): Promise<string | undefined> {
  return new Promise((resolve) => {
    const name = serverName ?? (isIP(host) === 0 ? host : undefined);
    const secure = { ...(name === undefined ? {} : { servername: name }), ...(ca ? { ca } : {}) };
    const socket = isTls ? connectTls({ host, port, ...secure }) : connectPlain({ host, port });
    const settle = (problem: string | undefined): void => {
      clearTimeout(timer);
      socket.on("error", () => undefined).destroy();
      resolve(problem);
    };
    const timer = setTimeout(() => settle(`no connection within ${timeoutMs / 1_000} s`), timeoutMs);
    socket.once("error", (error: NodeJS.ErrnoException) => settle(error.message || (error.code ?? "no connection")));
    socket.once(isTls ? "secureConnect" : "connect", () => settle(undefined));
  });
}

/** Checks whether a server accepts a connection, with a valid certificate for TLS. The connection is closed without sending anything. */
import { connect as connectPlain, isIP } from "node:net";
import { connect as connectTls } from "node:tls";

export type TcpAddress = {
  host: string;
  port: number;
  isTls: boolean;
  /** The name in the certificate, if it is not the host. */
  serverName?: string | null;
  /** A certificate in PEM to trust in place of the well-known ones. */
  ca?: string | null;
};

/** Resolves with undefined when the server was reached, otherwise with the reason. Never rejects. */
export function reach({ host, port, isTls, serverName, ca }: TcpAddress, timeoutMs: number): Promise<string | undefined> {
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

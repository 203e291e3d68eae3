/** Types of the package `smpp`, which has none, as far as the tests use it. */
declare module "smpp" {
  import type { Server } from "node:net";

  export type Pdu = {
    command: string;
    command_status: number;
    sequence_number: number;
    short_message?: { message?: string | Buffer };
    response(fields?: object): Pdu;
  };
  export type Session = {
    on(event: "pdu", listener: (pdu: Pdu) => void): void;
    on(event: "error", listener: (error: Error) => void): void;
    send(pdu: Pdu): void;
    deliver_sm(fields: object, onResponse: (pdu: Pdu) => void): void;
  };
  const smpp: { createServer(on: (session: Session) => void): Server };
  export default smpp;
}

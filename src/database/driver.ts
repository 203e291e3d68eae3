/** The fence around the driver. Everything that depends on parts of `pg` that neither its types nor its documentation promise is in this
 *  file (decision 0056). `driver.test.ts` fails if a new version of the driver changes one of them. */
import type { Socket } from "node:net";
import { TLSSocket } from "node:tls";
import pg from "pg";
import { parse } from "pg-connection-string";
import { assert } from "../lib/assert.ts";
import { ArrayParameter, Scratch } from "./batch.ts";

type BindConfig = { portal?: string; statement?: string; values?: readonly unknown[]; binary?: boolean };

/** The parts of the driver's connection that its types leave out or describe differently. */
type DriverConnection = {
  /** The socket. After a TLS handshake, the TLS socket. */
  readonly stream: Socket;
  /** Adds the listener for `data` that contains the parser, before a byte of the protocol arrives. */
  attachListeners(stream: Socket): void;
  /** Sends a Bind message. The values are those of the statement, unchanged. */
  bind(config: BindConfig): void;
  /** The driver's own listener, which begins with the call of `connect`, sends the password. */
  on(event: "authenticationCleartextPassword", listener: () => void): void;
};

/** The parameters of a URL that have an effect. With others, such as `connection`, a URL could choose private options of the client. */
const URL_PARAMETERS =
  /^(user|password|host|port|database|options|ssl|sslnegotiation|(query|statement|lock|idle_in_transaction_session)_timeout)$/;

/** Reads a URL as the driver does. The driver takes the result, although the types of the two packages differ. */
export const parseUrl = (url: string): pg.ClientConfig =>
  Object.fromEntries(Object.entries(parse(url)).filter(([name]) => URL_PARAMETERS.test(name)));

/** PostgreSQL's port, which is also part of the name of its socket. */
export const DEFAULT_PORT = 5432;

/** Values for the options that the driver otherwise takes from PGPORT, PGSSLMODE, PGSSLNEGOTIATION, PGOPTIONS, PGREPLICATION and
 *  PGCLIENT_ENCODING. It replaces an empty value, so each of these has one without an effect. */
const WITHOUT_ENVIRONMENT = {
  port: DEFAULT_PORT,
  ssl: false,
  sslnegotiation: "postgres",
  options: " ",
  replication: "false",
  client_encoding: "utf8",
} as const;

/** Returns the configuration of a client of a socket. The environment of the process, which is meant for other servers, has no effect. */
export const socketConfig = (socket: { host: string; port?: number; user: string; database: string }): pg.ClientConfig => ({
  ...WITHOUT_ENVIRONMENT,
  ...socket,
});

/** A statement with a time limit of its own. */
export type TimedQuery = pg.QueryConfig & { query_timeout: number };

/** The options of a pool. The pool waits for the promise of `onConnect` before it hands out the client. */
export type PoolOptions = pg.PoolConfig & { onConnect: (client: pg.ClientBase) => Promise<void> };

/** Whether the driver lost the connection, or gave up the wait for a response. Its own errors have no code. */
export const isLossByDriver = ({ message }: Error): boolean => /[Cc]onnection|[Qq]uery read timeout/.test(message);

// A server that responds closes the connection at once.
const END_TIMEOUT_MS = 2_000;

/** A client that survives any server, keeps its password from a server that it has not verified, and sends batches faster. */
export class DriverClient extends pg.Client {
  constructor(config: pg.ClientConfig) {
    super(config);
    const connection = this.connection as unknown as DriverConnection;
    guardParser(connection, (error) => this.giveUp(error));
    speedUpBind(connection);
    // LDAP, PAM and tokens of cloud providers need the clear text. The driver cannot write to a destroyed stream.
    connection.on("authenticationCleartextPassword", () => {
      const { stream } = connection;
      if (stream instanceof TLSSocket && stream.authorized) return;
      this.giveUp(new Error("the server asks for the password in clear text, without TLS and a verified certificate"));
    });
  }

  /** Ends the connection without notifying the server. */
  giveUp(cause: Error): void {
    this.connection.stream.destroy(new Error(`the connection is given up: ${cause.message}`, { cause }));
  }

  override end(): Promise<void>;
  override end(callback: (error: Error) => void): void;
  /** Ends the session, also on a server that has vanished. The open connection would otherwise keep the process from ending. */
  override end(callback?: (error: Error) => void): Promise<void> | void {
    const limit = setTimeout(() => this.connection.stream.destroy(), END_TIMEOUT_MS).unref();
    this.once("end", () => clearTimeout(limit));
    return callback === undefined ? super.end() : super.end(callback);
  }
}

/** The driver's parser throws on a message that it does not know, in a listener of the socket, and the error would end the process. */
function guardParser(connection: DriverConnection, giveUp: (error: Error) => void): void {
  const attach = connection.attachListeners.bind(connection);
  connection.attachListeners = (stream) => {
    attach(stream);
    const check = new MessageCheck();
    for (const parseChunk of stream.listeners("data") as ((chunk: Buffer) => void)[]) {
      stream.off("data", parseChunk);
      stream.on("data", (chunk: Buffer) => {
        try {
          check.read(chunk);
          parseChunk(chunk);
        } catch (error) {
          giveUp(error instanceof Error ? error : new Error(String(error)));
        }
      });
    }
  };
}

const ERROR = 0x45;
const NOTICE = 0x4e;
const HEADER_BYTES = 5;
const END_BYTES = 2;
const NO_BYTES = Buffer.alloc(0);

/** Follows the messages in the bytes of a server, and throws at an error or a notice that does not end with two zeros: the end of its last
 *  field, and its own. The driver's parser would read on past its end for ever. */
class MessageCheck {
  /** The size of the next part to read: a header, or the end of an error. `#skip` bytes precede it. */
  #next = HEADER_BYTES;
  #skip = 0;
  /** The begin of this part, from the last chunk. */
  #held: Buffer = NO_BYTES;

  read(chunk: Buffer): void {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk]);
    let at = this.#skip;
    while (at + this.#next <= bytes.length) {
      if (this.#next === END_BYTES) {
        if (bytes.readUInt16BE(at) !== 0) throw new Error("the server sent an error without its end");
        this.#next = HEADER_BYTES;
        at += END_BYTES;
      } else {
        const size = 1 + bytes.readUInt32BE(at + 1);
        if (size < HEADER_BYTES) throw new Error("the server sent a message without a length");
        const isError = bytes[at] === ERROR || bytes[at] === NOTICE;
        this.#next = isError ? END_BYTES : HEADER_BYTES;
        at += isError ? size - END_BYTES : size;
      }
    }
    this.#skip = Math.max(0, at - bytes.length);
    // An empty part of the chunk would keep the whole chunk in memory.
    this.#held = at < bytes.length ? bytes.subarray(at) : NO_BYTES;
  }
}

const BIND = 0x42;
const BINARY = 1;
const TEXT = 0;

// Holds at most one buffer for each statement that is sent at the same time. The pool of connections bounds their number.
const spare: Scratch[] = [];

/** Writes the Bind message of a batch in one step. The driver builds the message in buffers that grow from 256 bytes, and copies each
 *  parameter several times. For batches this garbage, which is outside the JavaScript heap, caused a full collection every second and cost
 *  30 µs a message. A statement has columns or other parameters, not both. */
function speedUpBind(connection: DriverConnection): void {
  const bindByDriver = connection.bind.bind(connection);
  connection.bind = (config) => {
    const { values = [], statement = "", portal = "", binary = false } = config;
    const columns = values.filter((value) => value instanceof ArrayParameter);
    if (columns.length === 0) return bindByDriver(config);
    assert(columns.length === values.length && portal === "" && !binary, "a statement has only columns as parameters, or none");
    const scratch = spare.pop() ?? new Scratch();
    writeBind(scratch, statement, columns);
    connection.stream.write(scratch.view(), () => spare.push(scratch));
  };
}

function writeBind(scratch: Scratch, statement: string, columns: readonly ArrayParameter[]): void {
  scratch.rewind(0);
  scratch.bytes(Buffer.of(BIND, 0, 0, 0, 0));
  // The unnamed portal, the statement, and one format for all parameters.
  scratch.bytes(Buffer.from(`\0${statement}\0`, "latin1"));
  scratch.int16(1);
  scratch.int16(BINARY);
  scratch.int16(columns.length);
  for (const column of columns) {
    const at = scratch.length;
    scratch.int32(0);
    column.writeTo(scratch);
    scratch.patchInt32(at, scratch.length - at - 4);
  }
  scratch.int16(1);
  scratch.int16(TEXT);
  scratch.patchInt32(1, scratch.length - 1);
}

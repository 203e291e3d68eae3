/** A TCP proxy between a service and its database. A test can cut a connection at a chosen moment of a statement. */
import { once } from "node:events";
import { connect, createServer, type AddressInfo, type Server, type Socket } from "node:net";
import pg from "pg";

/** `asked`: the statement does not reach the database. `running`: the connection is cut while the database executes the statement.
 *  `answered`: the database has executed the statement, and the response does not reach the service. `ended`: the response reaches the
 *  service, together with the error that the database ends the session. */
type Moment = "asked" | "running" | "answered" | "ended";

const READY_FOR_QUERY = Buffer.from("Z\0\0\0\x05I", "latin1");

function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.from("E\0\0\0\0");
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}

export class DatabaseWire {
  /** The DATABASE_URL for the service. */
  readonly url: string;
  readonly #server: Server;
  readonly #sockets: Set<Socket>;
  /** The sockets to the service. */
  readonly #near = new Set<Socket>();
  #cut: { moment: Moment; mark: string } | undefined;
  #onCut: () => void = () => undefined;
  #isCutOff = false;

  private constructor(url: string, server: Server, sockets: Set<Socket>) {
    this.url = url;
    this.#server = server;
    this.#sockets = sockets;
  }

  static async to(databaseUrl: string, nearPort = 0): Promise<DatabaseWire> {
    const { host, port, user, password, database } = new pg.Client(databaseUrl);
    const sockets = new Set<Socket>();
    const server = createServer((near) => {
      const far = host.startsWith("/") ? connect(`${host}/.s.PGSQL.${port}`) : connect(port, host);
      for (const socket of [near, far]) {
        sockets.add(socket);
        socket.on("error", () => undefined);
        socket.on("close", () => sockets.delete(socket));
      }
      wire.#join(near, far);
    });
    server.listen(nearPort, "127.0.0.1");
    await once(server, "listening");
    const login = `${encodeURIComponent(user ?? "")}${password ? `:${encodeURIComponent(password)}` : ""}`;
    const url = `postgres://${login}@127.0.0.1:${(server.address() as AddressInfo).port}/${database}`;
    const wire = new DatabaseWire(url, server, sockets);
    return wire;
  }

  /** Cuts the connection of the next statement that contains the mark. `onCut` is called when the statement, or its response, is held
   *  back. */
  cutNext(moment: Moment, mark: string, onCut: () => void = () => undefined): void {
    this.#cut = { moment, mark };
    this.#onCut = onCut;
  }

  /** Cuts every connection to the service. The database does not notice. */
  cutAll(): void {
    for (const socket of this.#near) socket.destroy();
  }

  /** Cuts every connection of the service, and all that it opens, until it is called with false. */
  cutOff(isCutOff: boolean): void {
    this.#isCutOff = isCutOff;
    if (isCutOff) this.cutAll();
  }

  /** Passes on nothing more, not even the end of a connection, as a machine that has vanished. New connections work. */
  freezeAll(): void {
    for (const socket of this.#sockets) socket.pause();
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, "close");
  }

  #join(near: Socket, far: Socket): void {
    let pending: Moment | undefined;
    if (this.#isCutOff) near.destroy();
    this.#near.add(near);
    near.on("close", () => this.#near.delete(near));
    near.on("data", (chunk) => {
      const moment = this.#cut !== undefined && chunk.includes(this.#cut.mark) ? this.#cut.moment : undefined;
      if (moment !== undefined) this.#cut = undefined;
      if (moment === "asked") {
        near.destroy();
        this.#onCut();
        return;
      }
      // A large statement arrives in several chunks, and the mark is in one of them.
      pending = moment ?? pending;
      far.write(chunk, () => {
        // The connection to the database stays open, as after a crash of the client's machine.
        if (moment === "running") near.destroy();
      });
    });
    far.on("data", (chunk) => {
      if (pending === "answered" && !near.destroyed) {
        near.destroy();
        this.#onCut();
      }
      if (near.destroyed) return;
      if (pending === "ended" && chunk.subarray(-READY_FOR_QUERY.length).equals(READY_FOR_QUERY))
        near.end(Buffer.concat([chunk, fatal("57P01", "terminating connection due to administrator command")]));
      else near.write(chunk);
    });
    near.on("end", () => far.end());
    far.on("close", () => near.destroy());
  }
}

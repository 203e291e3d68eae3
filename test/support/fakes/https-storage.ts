/** A storage of files with TLS, to which carriers redirect. */
import { once } from "node:events";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";

export class HttpsStorage {
  static readonly BYTES = Buffer.from("the bytes of the storage");
  readonly seen: { path: string | undefined; authorization: string | undefined }[] = [];
  readonly #server: Server;

  private constructor(certificate: { cert: string; key: string }) {
    this.#server = createServer(certificate, ({ url: path, headers: { authorization } }, response) => {
      this.seen.push({ path, authorization });
      response.writeHead(200, { "content-type": "image/png" }).end(HttpsStorage.BYTES);
    });
  }

  static async listen(certificate: { cert: string; key: string }): Promise<HttpsStorage> {
    const storage = new HttpsStorage(certificate);
    storage.#server.listen(0, "127.0.0.1");
    await once(storage.#server, "listening");
    return storage;
  }

  get url(): string {
    return `https://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((closed) => this.#server.close(closed));
  }
}

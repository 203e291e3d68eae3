/** The carrier of bench/links. It accepts every message at once, whatever its form, and prints its port. */
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";

let count = 0;
const server = createServer((request, response) => {
  request.resume().on("end", () => {
    count += 1;
    response.writeHead(201, { "content-type": "application/json" }).end(JSON.stringify({ sid: `SM${count}`, status: "queued" }));
  });
});
server.keepAliveTimeout = 60_000;
server.listen(0, "127.0.0.1", () => process.stdout.write(`${(server.address() as AddressInfo).port}\n`));

/** Sockets to hosts that others choose. Such a host decides what its bytes cost: thousands of headers or PDUs fit into one read of 64 kB, and
 *  one turn of the event loop makes up to 32 reads. These sockets pass on one piece in a turn, and a socket that is destroyed meanwhile passes on no
 *  further one. */
import { connect, type NetConnectOpts, type Socket } from "node:net";

// The most expensive piece for the HTTP parser, headers without values, takes 12 ms, and up to 30 ms on a busy machine.
const PIECE_BYTES = 1_024;

export function connectPiecewise(options: NetConnectOpts, pieceBytes = PIECE_BYTES): Socket {
  const buffer = Buffer.allocUnsafeSlow(pieceBytes);
  // Pieces that wait for their turns, and the end. A reader that asks for more meanwhile starts the next read: what it brings must not overtake
  // them.
  const waiting: (Buffer | null)[] = [];
  const passOn = (): void => {
    const [next] = waiting;
    if (next !== undefined && !socket.destroyed) push(next);
    waiting.shift();
    if (waiting.length > 0) setImmediate(passOn);
  };
  const wait = (piece: Buffer | null): false => {
    if (waiting.push(piece) === 1) setImmediate(passOn);
    return false;
  };
  const callback = (length: number): boolean => {
    const piece = Buffer.from(buffer.subarray(0, length));
    // The turn reads no more after a read that does not fill the buffer. Without a waiting piece, the stream starts the next read itself.
    return length < pieceBytes ? socket.push(piece) : wait(piece);
  };
  const socket = connect({ ...options, onread: { buffer, callback } });
  const push = socket.push.bind(socket);
  socket.push = (piece: Buffer | null) => (waiting.length > 0 ? wait(piece) : push(piece));
  return socket;
}

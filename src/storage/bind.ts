/** The Bind message of a batch, written in one go.
 *
 *  The driver builds it by growing buffers from 256 bytes on, copying each parameter several times; for batches that
 *  garbage, which lies outside the JavaScript heap, set off a full collection every second and cost 30 µs a message. This
 *  replaces one method of the driver's connection, and only for statements whose parameters are all columns. */
import { ArrayParameter, Scratch } from "./arrays.ts";

type BindConfig = { portal?: string; statement?: string; values?: readonly unknown[]; binary?: boolean };

/** What we need of the driver's connection, whose types do not show it. */
export type BindingConnection = {
  bind: (config: BindConfig) => void;
  stream: { write: (bytes: Buffer, onWritten: () => void) => unknown };
};

const BIND = 0x42;
const BINARY = 1;
const TEXT = 0;

// As many as there are statements on their way to the server at one time, which the pool of connections bounds.
const spare: Scratch[] = [];

export function speedUpBind(connection: BindingConnection): void {
  const bindAnything = connection.bind.bind(connection);
  connection.bind = (config) => {
    const { values = [], statement = "", portal = "", binary = false } = config;
    if (values.length > 0 && portal === "" && !binary && values.every((value) => value instanceof ArrayParameter)) {
      const scratch = spare.pop() ?? new Scratch();
      writeBind(scratch, statement, values as readonly ArrayParameter[]);
      connection.stream.write(scratch.view(), () => spare.push(scratch));
    } else bindAnything(config);
  };
}

function writeBind(scratch: Scratch, statement: string, columns: readonly ArrayParameter[]): void {
  scratch.clear();
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

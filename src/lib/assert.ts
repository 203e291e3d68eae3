/** For what nobody should ever see: fails loudly, close to the mistake. */
export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** Node's test runner tracks every promise to learn which suite a test is declared in, and which test a stray error belongs to. The tracking
 *  takes a fifth of the processor time of a file, and only the declarations need it. This module is loaded before `node:test`. */
import hooks from "node:async_hooks";

const { createHook } = hooks;
const untracking: (() => void)[] = [];

hooks.createHook = (callbacks) => {
  const hook = createHook(callbacks);
  untracking.push(() => {
    hook.disable();
    createHook({ ...callbacks, trackPromises: false }).enable();
  });
  return hook;
};

/** Call it when all tests are declared. From then on a rejection that nothing handles fails the file instead of one of its tests. Errors of
 *  timers and sockets still fail their test. */
export function untrackPromises(): void {
  hooks.createHook = createHook;
  for (const untrack of untracking.splice(0)) untrack();
}

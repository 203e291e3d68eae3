/** Tests of a file that build on each other. */
import { test, type TestContext } from "node:test";

/** Defines a test whose body returns the reason if this machine cannot run it. After such a test, or a failed one, the following ones are skipped. */
export function step(name: string, run: (context: TestContext) => Promise<string | undefined | void>): void {
  void test(name, async (context) => {
    if (whyNot !== undefined) return context.skip(whyNot);
    whyNot = `"${name}" has failed`;
    whyNot = (await run(context)) ?? undefined;
    if (whyNot !== undefined) context.skip(whyNot);
  });
}

let whyNot: string | undefined;

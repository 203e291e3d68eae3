/** A question that is asked by many and answered once in a while: whoever comes in between gets the same answer. */
export function remembered<T>(trustMs: number, ask: () => Promise<T>): () => Promise<T> {
  let answer: Promise<T> | undefined;
  let askedAt = 0;
  return () => {
    if (answer === undefined || performance.now() - askedAt >= trustMs) {
      askedAt = performance.now();
      answer = ask();
    }
    return answer;
  };
}

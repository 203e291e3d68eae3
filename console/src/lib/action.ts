/** A hook for an action of the user, with its state: running, failed or done. Runs one call at a time. */
import { useState } from "preact/hooks";

export type Action<Args extends readonly unknown[]> = {
  run: (...args: Args) => Promise<void>;
  isRunning: boolean;
  error: unknown;
  clear: () => void;
};

export function useAction<Args extends readonly unknown[]>(act: (...args: Args) => Promise<void>): Action<Args> {
  const [isRunning, setRunning] = useState(false);
  const [error, setError] = useState<unknown>(undefined);
  const run = async (...args: Args): Promise<void> => {
    if (isRunning) return;
    setRunning(true);
    setError(undefined);
    try {
      await act(...args);
    } catch (caught) {
      setError(caught);
    } finally {
      setRunning(false);
    }
  };
  return { run, isRunning, error, clear: () => setError(undefined) };
}

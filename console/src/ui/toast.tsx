/** A short word that something was done, said aloud as well and gone by itself. */
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";

const ToastContext = createContext<(text: string) => void>(() => undefined);

const SHOWN_MS = 5_000;

export function ToastProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const [said, setSaid] = useState<{ text: string; turn: number } | undefined>(undefined);
  const say = useCallback((text: string) => setSaid((before) => ({ text, turn: (before?.turn ?? 0) + 1 })), []);
  useEffect(() => {
    if (said === undefined) return undefined;
    const timer = setTimeout(() => setSaid(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [said]);
  return (
    <ToastContext value={say}>
      {children}
      <div class="toast" role="status">
        {said !== undefined && <p key={said.turn}>{said.text}</p>}
      </div>
    </ToastContext>
  );
}

export const useToast = (): ((text: string) => void) => useContext(ToastContext);

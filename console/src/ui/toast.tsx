/** A short confirmation that disappears by itself. Screen readers read it aloud. */
import { createContext, type ComponentChildren, type JSX } from "preact";
import { useCallback, useContext, useEffect, useState } from "preact/hooks";

const ToastContext = createContext<(text: string) => void>(() => undefined);

const SHOWN_MS = 5_000;

export function ToastProvider({ children }: { children: ComponentChildren }): JSX.Element {
  const [toast, setToast] = useState<{ text: string; serial: number } | undefined>(undefined);
  const say = useCallback((text: string) => setToast((before) => ({ text, serial: (before?.serial ?? 0) + 1 })), []);
  useEffect(() => {
    if (toast === undefined) return undefined;
    const timer = setTimeout(() => setToast(undefined), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <ToastContext value={say}>
      {children}
      <div class="toast" role="status">
        {toast !== undefined && <p key={toast.serial}>{toast.text}</p>}
      </div>
    </ToastContext>
  );
}

export const useToast = (): ((text: string) => void) => useContext(ToastContext);

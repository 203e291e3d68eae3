/** What can be done to an endpoint. One that is disabled takes no events, so neither a test nor a recovery. */
import type { JSX } from "preact";
import type { Action } from "../lib/action.ts";
import type { Question } from "./endpoint-dialogs.tsx";

type ButtonsProps = { isEnabled: boolean; test: Action<[]>; enable: Action<[]>; onQuestion: (question: Question) => void };

export function EndpointButtons({ isEnabled, test, enable, onQuestion }: ButtonsProps): JSX.Element {
  const ask = (question: Question, label: string): JSX.Element => (
    <button type="button" onClick={() => onQuestion(question)}>
      {label}
    </button>
  );
  return (
    <>
      {isEnabled ? (
        <button type="button" class="primary" disabled={test.isRunning} onClick={() => void test.run()}>
          Send a test event
        </button>
      ) : (
        <button type="button" class="primary" disabled={enable.isRunning} onClick={() => void enable.run()}>
          Enable
        </button>
      )}
      {ask("edit", "Edit")}
      {ask("rotate", "Rotate the secret")}
      {isEnabled && ask("recover", "Recover")}
      {isEnabled && ask("disable", "Disable")}
      {ask("delete", "Delete")}
    </>
  );
}

/** The actions for an endpoint. A disabled endpoint receives no events, so it offers neither a test nor a recovery. */
import type { JSX } from "preact";
import type { Action } from "../lib/action.ts";
import type { DialogName } from "./endpoint-dialogs.tsx";

type ButtonsProps = { isEnabled: boolean; test: Action<[]>; enable: Action<[]>; onOpen: (dialog: DialogName) => void };

export function EndpointButtons({ isEnabled, test, enable, onOpen }: ButtonsProps): JSX.Element {
  const dialogButton = (dialog: DialogName, label: string): JSX.Element => (
    <button type="button" onClick={() => onOpen(dialog)}>
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
      {dialogButton("edit", "Edit")}
      {dialogButton("rotate", "Rotate the secret")}
      {isEnabled && dialogButton("recover", "Recover")}
      {isEnabled && dialogButton("disable", "Disable")}
      {dialogButton("delete", "Delete")}
    </>
  );
}

/** The dialogs of the actions for an endpoint. */
import type { JSX } from "preact";
import { DeleteEndpoint } from "./delete-endpoint.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";
import { DisableEndpoint } from "./disable-endpoint.tsx";
import { EditEndpoint } from "./edit-endpoint.tsx";
import { RecoverEndpoint } from "./recover-endpoint.tsx";
import { RotateSecret } from "./rotate-secret.tsx";

export type DialogName = "edit" | "rotate" | "recover" | "disable" | "delete";

const DIALOGS: Readonly<Record<DialogName, (props: EndpointDialogProps) => JSX.Element>> = {
  edit: EditEndpoint,
  rotate: RotateSecret,
  recover: RecoverEndpoint,
  disable: DisableEndpoint,
  delete: DeleteEndpoint,
};

export function EndpointDialog({ dialog, ...props }: EndpointDialogProps & { dialog: DialogName }): JSX.Element {
  const Dialog = DIALOGS[dialog];
  return <Dialog {...props} />;
}

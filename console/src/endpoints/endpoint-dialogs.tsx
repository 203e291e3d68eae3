/** What can be done to an endpoint that wants a word before it is done. */
import type { JSX } from "preact";
import { DeleteEndpoint } from "./delete-endpoint.tsx";
import type { EndpointDialogProps } from "./dialog-props.ts";
import { DisableEndpoint } from "./disable-endpoint.tsx";
import { EditEndpoint } from "./edit-endpoint.tsx";
import { RecoverEndpoint } from "./recover-endpoint.tsx";
import { RotateSecret } from "./rotate-secret.tsx";

export type Question = "edit" | "rotate" | "recover" | "disable" | "delete";

const DIALOGS: Readonly<Record<Question, (props: EndpointDialogProps) => JSX.Element>> = {
  edit: EditEndpoint,
  rotate: RotateSecret,
  recover: RecoverEndpoint,
  disable: DisableEndpoint,
  delete: DeleteEndpoint,
};

export function EndpointDialog({ question, ...props }: EndpointDialogProps & { question: Question }): JSX.Element {
  const Asked = DIALOGS[question];
  return <Asked {...props} />;
}

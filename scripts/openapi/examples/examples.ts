/** The example of every operation, for the OpenAPI document. A test validates each against its schema. They are not in the rows of the
 *  routes, because they share records of several features. */
import type { OperationExample } from "../document.ts";
import { accessExamples } from "./access.ts";
import { eventExamples } from "./events.ts";
import { messageExamples } from "./messages.ts";
import { recipientExamples } from "./recipients.ts";
import { setupExamples } from "./setup.ts";
import { templateExamples } from "./templates.ts";

export const EXAMPLES: Readonly<Record<string, OperationExample>> = {
  ...messageExamples,
  ...templateExamples,
  ...eventExamples,
  ...recipientExamples,
  ...setupExamples,
  ...accessExamples,
};

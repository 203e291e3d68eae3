/** The names that files can have in requests. Recipients and carriers get them. */
import { HINT } from "../http/schema.ts";

export const FILE_NAME = {
  minLength: 1,
  maxLength: 240,
  pattern: "^[^\\x00-\\x1f\\x7f/\\\\]+$",
  [HINT]: "must be a file name without slashes and control characters",
};

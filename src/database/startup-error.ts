/** The reason why the service cannot start, in one sentence for the operator. It is printed unchanged, with exit code 1. */
export class StartupError extends Error {
  override name = "StartupError";
}

/** Why the service cannot start, in one sentence for the person at the terminal: printed as it stands, exit code 1. */
export class StartupError extends Error {
  override name = "StartupError";
}

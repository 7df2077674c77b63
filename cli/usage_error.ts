/** What was asked for cannot be done as it was asked: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

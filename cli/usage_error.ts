/** An invalid command line or unusable file: exit code 2. */
export class UsageError extends Error {
  override readonly name = "UsageError";
}

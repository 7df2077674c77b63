/**
 * Reads that are optional: if the user lacks the permission for a read, the command continues and shows the missing
 * permission.
 */
import { statusOf } from "../../activities/kube/status.ts";

/** Collects the missing permissions of one command. */
export class MissingPermissions {
  readonly #missing = new Set<string>();

  /**
   * Returns the result of a read; if the user is not allowed to read, notes `permission`, such as "list nodes", and
   * returns undefined.
   */
  async reading<T>(permission: string, work: Promise<T>): Promise<T | undefined> {
    try {
      return await work;
    } catch (error) {
      if (!isDenied(error)) throw error;
      this.#missing.add(permission);
      return undefined;
    }
  }

  /** Returns the missing permissions in the order of the denied reads. */
  list(): string[] {
    return [...this.#missing];
  }
}

/** Returns whether the API server denied a read; activities report this as an ApplicationFailure "AccessDenied". */
function isDenied(error: unknown): boolean {
  const { name, type } = error as { name?: string; type?: string };
  return statusOf(error) === 403 || (name === "ApplicationFailure" && type === "AccessDenied");
}

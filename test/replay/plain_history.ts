/** The JSON form in which replay tests keep histories. */
import { historyToJSON } from "@temporalio/common/lib/proto-utils.js";

type History = Parameters<typeof historyToJSON>[0];

/**
 * Returns the history as JSON without stack traces and the identities of recording processes, both of which replay
 * ignores.
 */
export function plainHistory(history: History): string {
  const keep = (key: string, value: unknown): unknown => key === "stackTrace" || key === "identity" ? undefined : value;
  return JSON.stringify(JSON.parse(historyToJSON(history), keep));
}

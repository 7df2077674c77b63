/** Registers the columns of the run list on the Temporal server. */
import type { NativeConnection } from "@temporalio/worker";
import { searchAttributes } from "../workflows/status/search_attributes.ts";

/** gRPC's number for "already exists". */
const alreadyExists = 6;
/** Temporal's number for a keyword (temporal.api.enums.v1.IndexedValueType). */
const keyword = 2;

/** Makes sure that every search attribute exists. */
export async function ensureSearchAttributes(connection: NativeConnection, namespace: string): Promise<void> {
  for (const { name } of Object.values(searchAttributes)) {
    try {
      await connection.operatorService.addSearchAttributes({ namespace, searchAttributes: { [name]: keyword } });
    } catch (error) {
      if ((error as { code?: unknown }).code !== alreadyExists) throw error;
    }
  }
}

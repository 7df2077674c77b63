/** Decodes the values that Temporal keeps for Ostler, such as memos and inputs. */
import { defaultPayloadConverter } from "@temporalio/common";

/** An encoded value. */
export type Payload = Parameters<typeof defaultPayloadConverter.fromPayload>[0];

/** Returns a decoded value; undefined without one, and for an unknown encoding. */
export function valueOf(payload: Payload | null | undefined): unknown {
  if (!payload?.data) return undefined;
  try {
    return defaultPayloadConverter.fromPayload(payload);
  } catch {
    return undefined; // written by another payload converter, so unreadable
  }
}

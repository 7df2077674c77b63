import assert from "node:assert/strict";
import { ProfileRefused, type RefusalReason } from "../../../profiles/mod.ts";

/** Asserts that `work` throws ProfileRefused with this reason, and with a message that contains each text of `says`. */
export function refuses(work: () => unknown, reason: RefusalReason, ...says: string[]): void {
  assert.throws(work, (error) => {
    assert.ok(error instanceof ProfileRefused, String(error));
    assert.equal(error.reason, reason);
    for (const text of says) assert.ok(error.message.includes(text), `${error.message} lacks ${text}`);
    return true;
  });
}

/** Asserts that `work` rejects with ProfileRefused, and returns that error. */
export async function refusalOf(work: Promise<unknown>): Promise<ProfileRefused> {
  const error = await work.then(() => undefined, (error) => error);
  assert.ok(error instanceof ProfileRefused, String(error));
  return error;
}

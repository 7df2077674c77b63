import assert from "node:assert/strict";
import { TemplateFault } from "../../profiles/engines/template_engine.ts";

/** Returns the message of the TemplateFault with which a rendering must end. */
export async function faultOf(rendering: Promise<unknown>): Promise<string> {
  const error = await rendering.then((text) => new Error(`it rendered ${text}`.slice(0, 80)), (error) => error);
  assert.ok(error instanceof TemplateFault, String(error));
  return error.message;
}

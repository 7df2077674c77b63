/** The token of Operating System Manager with which machines fetch their user-data. */
import { isTaken } from "../config/bootstrap_token.ts";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Kube } from "../kube/client.ts";
import { getter } from "./names.ts";

/** Returns the token, or why it cannot be used. */
export async function readGetterToken(kube: Kube): Promise<{ token: string } | { fault: string }> {
  const { namespace, secret: name, key } = getter;
  const texts = (await readSecretTexts(kube, { namespace, name }))?.texts;
  const token = texts?.[key];
  if (!texts) return { fault: `Secret "${namespace}/${name}" does not exist` };
  if (!token) return { fault: `Secret "${namespace}/${name}" has no key "${key}" yet` };
  return await isTaken(kube, token)
    ? { token }
    : { fault: `the API server no longer accepts the token in Secret "${namespace}/${name}"` };
}

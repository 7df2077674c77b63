/** The token of Operating System Manager that machines fetch with: those that it makes, and those that it is given. */
import { isTaken } from "../config/bootstrap_token.ts";
import { readSecretTexts } from "../config/read_facts.ts";
import type { Kube } from "../kube/client.ts";
import { getter } from "./names.ts";

/** The token, or why there is none to count on. */
export async function readGetterToken(kube: Kube): Promise<{ token: string } | { fault: string }> {
  const { namespace, secret: name, key } = getter;
  const texts = (await readSecretTexts(kube, { namespace, name }))?.texts;
  const token = texts?.[key];
  if (!texts) return { fault: `Secret "${namespace}/${name}" is not there` };
  if (!token) return { fault: `Secret "${namespace}/${name}" has no "${key}" yet` };
  return await isTaken(kube, token)
    ? { token }
    : { fault: `the API server takes the token in "${namespace}/${name}" no more` };
}

/** The credentials of machines after a long time without renewal. */
import { Buffer } from "node:buffer";
import { createSign } from "node:crypto";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expiryAnnotation, renewalAnnotation } from "../../../activities/config/names.ts";
import { namesOf } from "../../../profiles/mod.ts";
import { secretPath } from "../../integration/pool_objects.ts";
import type { World } from "../../integration/world.ts";

/** Milliseconds until the next scheduled renewal: long enough to order a machine with the expired token. */
const dueInMs = 90_000;

/**
 * Replaces the pool's token by one with the same fields that expired an hour ago, and marks the credentials as due
 * soon. A pool is in this state when Ostler runs again after a long time. Prints nothing of the token.
 */
export async function expireToken(world: World, pool: string): Promise<void> {
  const path = secretPath(namesOf({ namespace: "kube-system", name: pool }).bootstrap);
  const { data } = await world.get<{ data: Record<string, string> }>(path) ?? { data: {} };
  const keyPem = await readFile(join(world.site.stack.directory, "pki", "service-account.key"), "utf8");
  const changed = Object.fromEntries(
    Object.entries(data).map(([key, value]) => {
      const text = Buffer.from(value, "base64").toString();
      return [key, Buffer.from(withTokens(text, (token) => expired(token, keyPem))).toString("base64")];
    }),
  );
  if (JSON.stringify(changed) === JSON.stringify(data)) throw new Error(`Failed to find a token in "${path}"`);
  const due = new Date(Date.now() + dueInMs).toISOString();
  const annotations = { [expiryAnnotation]: due, [renewalAnnotation]: due };
  await world.patch(path, { metadata: { annotations }, data: changed });
}

// Changes the tokens in user-data, in which files are base64.
function withTokens(text: string, change: (token: string) => string): string {
  return text.replaceAll(/[A-Za-z0-9+/]{200,}={0,2}/g, (content) => {
    const file = Buffer.from(content, "base64").toString();
    const [token] = /^eyJ[\w-]+\.[\w-]+\.[\w-]+/.exec(file) ?? [];
    return token === undefined ? content : Buffer.from(file.replace(token, change(token))).toString("base64");
  });
}

function expired(token: string, keyPem: string): string {
  const [header = "", claims = ""] = token.split(".");
  const said = JSON.parse(Buffer.from(claims, "base64url").toString());
  const now = Math.floor(Date.now() / 1000);
  const times = { iat: now - 7200, nbf: now - 7200, exp: now - 3600 };
  const signed = `${header}.${Buffer.from(JSON.stringify({ ...said, ...times })).toString("base64url")}`;
  return `${signed}.${createSign("RSA-SHA256").update(signed).sign(keyPem, "base64url")}`;
}

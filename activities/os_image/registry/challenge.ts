/** Authentication at a registry: the challenge of its HTTP 401, and the token for a Bearer challenge. */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { RegistryAway, Unfit } from "../fault.ts";
import { isLoopback } from "../reference.ts";
import { exchange } from "./exchange.ts";

export interface Credentials {
  username: string;
  password: string;
}

interface Challenge {
  scheme: "basic" | "bearer";
  parameters: Record<string, string>;
}

const largestToken = 64 * 1024;
const Token = z.object({ token: z.string().optional(), access_token: z.string().optional() }).loose();

/** Returns the challenge with which a `WWW-Authenticate` header begins; undefined if it is neither Basic nor Bearer. */
export function parseChallenge(header: string): Challenge | undefined {
  const [, scheme = "", rest = ""] = /^\s*(basic|bearer)\s+(.*)$/i.exec(header.slice(0, 4_096)) ?? [];
  const known = scheme.toLowerCase();
  if (known !== "basic" && known !== "bearer") return undefined;
  const pairs = [...rest.matchAll(/([a-z_]+)\s*=\s*(?:"([^"]*)"|([^\s,"]+))/gi)];
  return {
    scheme: known,
    parameters: Object.fromEntries(
      pairs.map(([, key = "", quoted, plain]) => [key.toLowerCase(), quoted ?? plain ?? ""]),
    ),
  };
}

/** The repository to pull from, and how to authenticate. */
export interface Door {
  /** Path of the repository; only permission to pull is requested. */
  path: string;
  /** Protocol of the registry. */
  protocol: string;
  credentials: Credentials | undefined;
  signal?: AbortSignal | undefined;
}

/**
 * Returns the `Authorization` header for a challenge. Throws Unfit if credentials are required but not configured, or
 * if the token server refuses.
 */
export async function answerTo({ scheme, parameters }: Challenge, door: Door): Promise<string> {
  if (scheme === "bearer") return `Bearer ${await tokenFrom(parameters, door)}`;
  if (door.credentials) return basic(door.credentials);
  throw new Unfit(
    "RegistryDenied",
    "The registry requires a username and a password; name a Secret in spec.pullSecret",
  );
}

function basic({ username, password }: Credentials): string {
  return `Basic ${Buffer.from(`${username}:${password}`).toString("base64")}`;
}

/** Requests a token for the repository alone: the scope in the registry's challenge may be wider and is ignored. */
async function tokenFrom(parameters: Record<string, string>, door: Door): Promise<string> {
  const { path, credentials, signal } = door;
  const url = realmOf(parameters["realm"] ?? "", door);
  if (parameters["service"] !== undefined) url.searchParams.set("service", parameters["service"]);
  url.searchParams.set("scope", `repository:${path}:pull`);
  const headers: Record<string, string> = credentials ? { authorization: basic(credentials) } : {};
  const { status, body } = await exchange({ url, headers, limit: largestToken, signal });
  if (status === 401 || status === 403) {
    throw new Unfit("RegistryDenied", `"${url.host}" refuses a token to pull "${path}": HTTP ${status}`);
  }
  if (status !== 200) throw new RegistryAway(`"${url.host}" did not issue a token: HTTP ${status}`);
  const { token, access_token = "" } = Token.safeParse(jsonOf(body)).data ?? {};
  const given = token || access_token;
  if (!/^[\x21-\x7e]+$/.test(given)) throw new RegistryAway(`"${url.host}" responded without a token`);
  return given;
}

/**
 * Returns the URL of the token server, which must use https. Plain http is valid only if the registry uses http too; if
 * credentials are sent, the token server must also run on this machine.
 */
function realmOf(realm: string, { protocol, credentials }: Door): URL {
  const url = URL.canParse(realm) ? new URL(realm) : undefined;
  const isOpen = url?.protocol === "http:" && protocol === "http:" &&
    (credentials === undefined || isLoopback(url.host));
  if (url && url.username === "" && url.password === "" && (url.protocol === "https:" || isOpen)) return url;
  throw new Unfit("RegistryDenied", "The registry names a token server without a valid https URL");
}

function jsonOf(body: Uint8Array | undefined): unknown {
  try {
    return JSON.parse(new TextDecoder().decode(body));
  } catch {
    return undefined; // such as an error page of a proxy
  }
}

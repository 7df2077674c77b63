/** Where Temporal is and what lets one in: variables and file as every other tool of Temporal reads them. */
import { type ClientConfigProfile, loadClientConfigProfile, toClientOptions } from "@temporalio/envconfig";
import type { NativeConnectionOptions } from "@temporalio/worker";
import { readFileSync } from "node:fs";
import { truth } from "../../profiles/settings/read_text.ts";

export interface TemporalServer {
  /** host:port of the frontend. */
  address: string;
  namespace: string;
  /** TLS, API key and headers, where any are needed; secret. */
  access: Pick<NativeConnectionOptions, "tls" | "apiKey" | "metadata">;
}

/** What flags say, or a file of our own; "" says nothing. */
export interface TemporalFlags {
  temporalAddress?: string | undefined;
  temporalNamespace?: string | undefined;
}

type Environment = Record<string, string | undefined>;

/**
 * Reads TEMPORAL_ADDRESS and its like, and below them the profile (TEMPORAL_PROFILE, else "default") of temporal.toml
 * (TEMPORAL_CONFIG_FILE, else in the user's config folder). Flags win over both. Throws an error for people, which holds
 * no line of the file: one of them may be a key.
 */
export function readTemporalServer(env: Environment, flags: TemporalFlags = {}): TemporalServer {
  const { namespace, connectionOptions } = withoutLines(() => toClientOptions(profileOf(env)));
  const { address, tls, apiKey, metadata } = connectionOptions;
  return {
    address: flags.temporalAddress || address || "127.0.0.1:7233",
    namespace: flags.temporalNamespace || namespace || "default",
    // Where TLS is off that is said: a connection would take it up with an API key by itself.
    access: { ...(tls === undefined ? {} : { tls }), ...(apiKey ? { apiKey } : {}), ...(metadata ? { metadata } : {}) },
  };
}

function profileOf(env: Environment): ClientConfigProfile {
  const profile = profileIn(understood(env), fileOf(env));
  const { disabled = false, clientCert, clientKey } = profile.tls ?? {};
  if (!disabled && !clientCert !== !clientKey) {
    throw new Error("a client's certificate and its key are only of use together");
  }
  return profile;
}

// By itself the library passes over a file that was named and is not there.
function fileOf({ TEMPORAL_CONFIG_FILE: path }: Environment): string | undefined {
  return path ? readFileSync(path, "utf8") : undefined;
}

function profileIn(env: Record<string, string>, data: string | undefined): ClientConfigProfile {
  try {
    return loadClientConfigProfile({ overrideEnvVars: env, ...(data === undefined ? {} : { configSource: { data } }) });
  } catch (error) {
    // It falls over a file that has no profile at all, which is then as good as none.
    if (!(error instanceof TypeError)) throw error;
    return loadClientConfigProfile({ overrideEnvVars: env, configSource: { data: "[profile]" } });
  }
}

/**
 * The variables as the library understands them: it takes an empty one for a value, by which an empty key switches TLS on,
 * and every truth that it does not know for false, by which `True` switches it off.
 */
function understood(env: Environment): Record<string, string> {
  const set = Object.entries(env).filter((pair): pair is [string, string] =>
    pair[1] !== undefined && (pair[1] !== "" || pair[0].startsWith("TEMPORAL_GRPC_META_"))
  );
  const known = withKeyOfFile(Object.fromEntries(set));
  if (known["TEMPORAL_TLS"] === undefined) return known;
  const tls = truth.safeParse(known["TEMPORAL_TLS"]);
  if (!tls.success) throw new Error(`TEMPORAL_TLS "${known["TEMPORAL_TLS"]}": must be true or false`);
  return { ...known, TEMPORAL_TLS: String(tls.data) };
}

// As the library reads certificates. A variable stays for a process's life, a file may change.
function withKeyOfFile({ TEMPORAL_API_KEY_PATH: path, ...env }: Record<string, string>): Record<string, string> {
  if (path === undefined) return env;
  if (env["TEMPORAL_API_KEY"] !== undefined) throw new Error("TEMPORAL_API_KEY and TEMPORAL_API_KEY_PATH: give one");
  const key = readFileSync(path, "utf8").trim();
  if (key === "") throw new Error(`TEMPORAL_API_KEY_PATH "${path}": the file is empty`);
  return { ...env, TEMPORAL_API_KEY: key };
}

function withoutLines<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`Cannot read Temporal's settings: ${(error as Error).message.split("\n")[0]}`);
  }
}

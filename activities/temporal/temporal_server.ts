/** Reads address and credentials of Temporal from the variables and the file that every other Temporal tool reads. */
import { type ClientConfigProfile, loadClientConfigProfile, toClientOptions } from "@temporalio/envconfig";
import type { NativeConnectionOptions } from "@temporalio/worker";
import { readFileSync } from "node:fs";
import { truth } from "../../profiles/settings/read_text.ts";

export interface TemporalServer {
  /** host:port of the frontend. */
  address: string;
  namespace: string;
  /** TLS, API key and headers, where required; secret. */
  access: Pick<NativeConnectionOptions, "tls" | "apiKey" | "metadata">;
}

/** Values of flags, or from Ostler's own settings file; "" means unset. */
interface TemporalFlags {
  temporalAddress?: string | undefined;
  temporalNamespace?: string | undefined;
}

type Environment = Record<string, string | undefined>;

/**
 * Reads TEMPORAL_ADDRESS and similar variables, and for unset ones the profile (TEMPORAL_PROFILE, else "default") of
 * temporal.toml (TEMPORAL_CONFIG_FILE, else in the user's config folder). Flags win over both. Throws a readable error
 * that quotes no line of the file, because a line may contain a key.
 */
export function readTemporalServer(env: Environment, flags: TemporalFlags = {}): TemporalServer {
  const { namespace, connectionOptions } = withoutLines(() => toClientOptions(profileOf(env)));
  const { address, tls, apiKey, metadata } = connectionOptions;
  return {
    address: flags.temporalAddress || address || "127.0.0.1:7233",
    namespace: flags.temporalNamespace || namespace || "default",
    // TLS off is passed explicitly, because a connection with an API key would otherwise enable TLS.
    access: { ...(tls === undefined ? {} : { tls }), ...(apiKey ? { apiKey } : {}), ...(metadata ? { metadata } : {}) },
  };
}

function profileOf(env: Environment): ClientConfigProfile {
  const profile = profileIn(understood(env), fileOf(env));
  const { disabled = false, clientCert, clientKey } = profile.tls ?? {};
  if (!disabled && !clientCert !== !clientKey) {
    throw new Error("a client certificate and its key must be set together");
  }
  return profile;
}

// Reads the file here, because the library ignores a named file that does not exist, and this must be an error.
function fileOf({ TEMPORAL_CONFIG_FILE: path }: Environment): string | undefined {
  return path ? readFileSync(path, "utf8") : undefined;
}

function profileIn(env: Record<string, string>, data: string | undefined): ClientConfigProfile {
  try {
    return loadClientConfigProfile({ overrideEnvVars: env, ...(data === undefined ? {} : { configSource: { data } }) });
  } catch (error) {
    // The library throws for a file without a profile; such a file is read as one with an empty profile.
    if (!(error instanceof TypeError)) throw error;
    return loadClientConfigProfile({ overrideEnvVars: env, configSource: { data: "[profile]" } });
  }
}

/**
 * Returns the variables in a form that the library reads as meant. The library takes an empty variable for a value, so
 * an empty key would enable TLS; and it takes every unknown truth value for false, so `True` would disable TLS.
 */
function understood(env: Environment): Record<string, string> {
  const set = Object.entries(env).filter((pair): pair is [string, string] =>
    pair[1] !== undefined && (pair[1] !== "" || pair[0].startsWith("TEMPORAL_GRPC_META_"))
  );
  const known = withKeyOfFile(Object.fromEntries(set));
  if (known["TEMPORAL_TLS"] === undefined) return known;
  const tls = truth.safeParse(known["TEMPORAL_TLS"]);
  if (!tls.success) throw new Error(`TEMPORAL_TLS is "${known["TEMPORAL_TLS"]}"; expected true or false`);
  return { ...known, TEMPORAL_TLS: String(tls.data) };
}

// The key may be in a file, as certificates may: a file can be replaced while the process runs, a variable cannot.
function withKeyOfFile({ TEMPORAL_API_KEY_PATH: path, ...env }: Record<string, string>): Record<string, string> {
  if (path === undefined) return env;
  if (env["TEMPORAL_API_KEY"] !== undefined) {
    throw new Error("TEMPORAL_API_KEY and TEMPORAL_API_KEY_PATH are mutually exclusive");
  }
  const key = readFileSync(path, "utf8").trim();
  if (key === "") throw new Error(`TEMPORAL_API_KEY_PATH "${path}": the file is empty`);
  return { ...env, TEMPORAL_API_KEY: key };
}

function withoutLines<T>(read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`Failed to read Temporal's settings: ${(error as Error).message.split("\n")[0]}`);
  }
}

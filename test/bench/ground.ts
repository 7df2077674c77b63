/**
 * The base of a measurement: a fresh control plane with CRDs and identities, without Ostler or Operating System
 * Manager.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { installManifests, mintKubeconfigs, type SiteKubeconfigs } from "../../deploy/local/site/site.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { type Stack, startStack } from "../../deploy/local/stack/stack.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import type { LentTemporal } from "../../deploy/local/stack/lent_temporal.ts";

/** A control plane with Temporal, and the identities that may write its objects. */
export interface Ground {
  stack: Stack;
  kubeconfigs: SiteKubeconfigs;
  /** Connection with the administrator's credentials. */
  api: ApiConnection;
}

export interface GroundOptions {
  /** Names of the users whose requests the API server's audit log records. */
  audited?: string[];
  /** Starts a Temporal server in place of the dev server on SQLite. */
  temporal?: LentTemporal;
}

const toolNames = ["etcd", "kube-apiserver", "kube-controller-manager", "temporal", "machine-controller"] as const;

/** Runs one measurement on a fresh control plane, whose directory is kept only when the measurement fails. */
export async function onGround<T>(options: GroundOptions, measure: (ground: Ground) => Promise<T>): Promise<T> {
  const tools = await resolveTools(toolNames);
  const directory = await mkdtemp(join(tmpdir(), "ostler-bench-"));
  const stack = await startStack({
    ...{ directory, tools, audited: options.audited ?? [] },
    ...(options.temporal === undefined ? {} : { startTemporal: options.temporal.start }),
  });
  let result: T;
  try {
    await installManifests(stack.adminKubeconfig);
    using api = await ApiConnection.open(stack.adminKubeconfig);
    result = await measure({ stack, kubeconfigs: await mintKubeconfigs(stack), api });
  } catch (error) {
    throw new Error(`Failed to measure; logs are in "${directory}/logs"`, { cause: error });
  } finally {
    await stack.stop();
    await options.temporal?.remove();
  }
  await rm(directory, { recursive: true, force: true });
  return result;
}

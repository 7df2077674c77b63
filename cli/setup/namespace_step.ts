/** Temporal's namespace, and its retention of ended workflows. */
import type { Server } from "../connect/server.ts";
import { codeOf } from "../connect/temporal_failure.ts";
import { duration } from "../view/durations.ts";
import { alreadyExists, notFound, refusalIn } from "./refusals.ts";
import type { Manner, Step } from "./step.ts";

/** Default retention of a new namespace: seven days, in seconds. */
const usualRetention = 7 * 86_400;

interface NamespaceWish extends Manner {
  /** Seconds; missing keeps the retention of an existing namespace. */
  retention?: number;
}

/** The step, and whether the namespace exists afterwards: an absent namespace cannot be queried. */
interface NamespaceFound {
  step: Step;
  isThere: boolean;
}

/**
 * Creates the namespace if it is absent; changes the retention of an existing namespace only if a retention is given.
 */
export async function ensureNamespace(server: Server, wish: NamespaceWish): Promise<NamespaceFound> {
  const about = `namespace "${server.namespace}"`;
  const { namespace, service: { workflowService } } = server;
  try {
    const { config } = await workflowService.describeNamespace({ namespace });
    const kept = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    const { retention: wanted = kept, dryRun } = wish;
    const message = `already exists, with a retention of ${duration(kept)}`;
    const step: Step = wanted === kept
      ? { about, outcome: "Present", message }
      : await changeRetention(server, { about, kept, wanted, dryRun });
    return { step, isThere: true };
  } catch (error) {
    if (codeOf(error) === notFound) return await create(server, about, wish);
    const message = `cannot be read: ${refusalIn(server.address, error)}; request the permission to read it`;
    return { step: { about, outcome: "Refused", message }, isThere: true };
  }
}

async function create(
  server: Server,
  about: string,
  { retention, dryRun }: NamespaceWish,
): Promise<NamespaceFound> {
  const { namespace, service: { workflowService } } = server;
  const seconds = retention ?? usualRetention;
  const keeping = `with a retention of ${duration(seconds)}`;
  if (dryRun) return { step: { about, outcome: "Wanted", message: `would be created, ${keeping}` }, isThere: false };
  try {
    const period = { seconds: seconds as never };
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: period });
    return { step: { about, outcome: "Created", message: `created, ${keeping}` }, isThere: true };
  } catch (error) {
    if (codeOf(error) === alreadyExists) {
      return { step: { about, outcome: "Present", message: "already exists" }, isThere: true };
    }
    const byHand = `temporal operator namespace create --namespace ${namespace} --retention ${hours(seconds)}`;
    const message = `does not exist, and ${notAllowed(server, error)}; an administrator must run \`${byHand}\``;
    return { step: { about, outcome: "Refused", message }, isThere: false };
  }
}

interface Retention extends Manner {
  about: string;
  /** The present retention, in seconds. */
  kept: number;
  /** The wanted retention, in seconds. */
  wanted: number;
}

async function changeRetention(server: Server, { about, kept, wanted, dryRun }: Retention): Promise<Step> {
  const { namespace, service: { workflowService } } = server;
  const change = `from ${duration(kept)} to ${duration(wanted)}`;
  if (dryRun) return { about, outcome: "Wanted", message: `its retention would be changed ${change}` };
  try {
    const config = { workflowExecutionRetentionTtl: { seconds: wanted as never } };
    await workflowService.updateNamespace({ namespace, config });
    return { about, outcome: "Changed", message: `its retention changed ${change}` };
  } catch (error) {
    const byHand = `temporal operator namespace update --namespace ${namespace} --retention ${hours(wanted)}`;
    const why = `has a retention of ${duration(kept)}, and ${notAllowed(server, error)}`;
    return { about, outcome: "Refused", message: `${why}; an administrator must run \`${byHand}\`` };
  }
}

function notAllowed({ address }: Server, error: unknown): string {
  return `Temporal at ${address} refuses the request: ${refusalIn(address, error)}`;
}

// Flag --retention of the `temporal` command does not accept days.
function hours(seconds: number): string {
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`;
}

/** Temporal's namespace, and for how long it keeps what has ended. */
import type { Server } from "../connect/server.ts";
import { codeOf } from "../connect/temporal_failure.ts";
import { duration } from "../view/durations.ts";
import { alreadyExists, notFound, refusalIn } from "./refusals.ts";
import type { Manner, Step } from "./step.ts";

/** Of a namespace that is made, where nothing else is asked for: seven days, in seconds. */
const usualRetention = 7 * 86_400;

export interface NamespaceWish extends Manner {
  /** Seconds; missing leaves that of a namespace that is there. */
  retention?: number;
}

/** A step, and whether there is a namespace now: nothing can be asked about one that is not there. */
export interface NamespaceFound {
  step: Step;
  isThere: boolean;
}

/** Makes the namespace where it is absent; changes the retention of one that is there only where one is asked for. */
export async function ensureNamespace(server: Server, wish: NamespaceWish): Promise<NamespaceFound> {
  const about = `namespace "${server.namespace}"`;
  const { namespace, service: { workflowService } } = server;
  try {
    const { config } = await workflowService.describeNamespace({ namespace });
    const kept = Number(config?.workflowExecutionRetentionTtl?.seconds ?? 0);
    const { retention: wanted = kept, dryRun } = wish;
    const message = `already there, keeps what has ended for ${duration(kept)}`;
    const step: Step = wanted === kept
      ? { about, outcome: "Present", message }
      : await changeRetention(server, { about, kept, wanted, dryRun });
    return { step, isThere: true };
  } catch (error) {
    if (codeOf(error) === notFound) return await create(server, about, wish);
    const message = `cannot be looked at: ${refusalIn(server.address, error)}; ask for the right to read it`;
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
  const keeping = `to keep what has ended for ${duration(seconds)}`;
  if (dryRun) return { step: { about, outcome: "Wanted", message: `would be created, ${keeping}` }, isThere: false };
  try {
    const period = { seconds: seconds as never };
    await workflowService.registerNamespace({ namespace, workflowExecutionRetentionPeriod: period });
    return { step: { about, outcome: "Created", message: `created, ${keeping}` }, isThere: true };
  } catch (error) {
    if (codeOf(error) === alreadyExists) {
      return { step: { about, outcome: "Present", message: "already there" }, isThere: true };
    }
    const byHand = `temporal operator namespace create --namespace ${namespace} --retention ${hours(seconds)}`;
    const message = `is not there, and ${notAllowed(server, error)}; somebody who may has to run \`${byHand}\``;
    return { step: { about, outcome: "Refused", message }, isThere: false };
  }
}

interface Retention extends Manner {
  about: string;
  /** Seconds, as both are. */
  kept: number;
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
    const why = `keeps what has ended for ${duration(kept)}, and ${notAllowed(server, error)}`;
    return { about, outcome: "Refused", message: `${why}; somebody who may has to run \`${byHand}\`` };
  }
}

function notAllowed({ address }: Server, error: unknown): string {
  return `Temporal at ${address} does not let us: ${refusalIn(address, error)}`;
}

// The command of Temporal knows no days.
function hours(seconds: number): string {
  return seconds % 3600 === 0 ? `${seconds / 3600}h` : `${seconds}s`;
}

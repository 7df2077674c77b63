/** `ostler setup`: prepares Temporal before the processes start, and checks their permissions in Kubernetes. */
import type { ConnectOptions, World } from "../connect/world.ts";
import { CommandFailure } from "../failure.ts";
import type { Terminal } from "../terminal.ts";
import { UsageError } from "../usage_error.ts";
import { parseDuration } from "../view/durations.ts";
import { asData, type Format } from "../view/output.ts";
import { printable } from "../view/printable.ts";
import { ensureNamespace } from "./namespace_step.ts";
import { checkRights } from "./rights_step.ts";
import type { Manner, Step } from "./step.ts";
import { ensureSearchAttributes, missingColumns } from "../../activities/temporal/search_attributes.ts";
import { columnsOf } from "../../workflows/commands/start_options.ts";
import type { Server } from "../connect/server.ts";
import { codeOf } from "../connect/temporal_failure.ts";
import { notFound, refusalIn } from "./refusals.ts";

export interface SetupFlags extends ConnectOptions {
  output: Format;
  retention?: string;
  dryRun?: boolean;
  /** False with `--no-rights`. */
  rights: boolean;
  systemNamespace: string;
  profileNamespace: string;
}

/** Milliseconds within which Temporal must have answered every request. */
const patienceMs = 60_000;

/** Runs the steps in order and prints each when it is done; returns exit code 1 if a step was refused, else 0. */
export async function setUp(terminal: Terminal, world: World, flags: SetupFlags): Promise<number> {
  const retention = retentionOf(flags);
  const steps: Step[] = [];
  const tell = (step: Step): void => {
    steps.push(step);
    if (flags.output === "table") terminal.out(`${printable(`${step.about}: ${step.message}`, Infinity)}\n`);
  };
  await prepareTemporal(world, { ...retention, dryRun: flags.dryRun === true }, tell);
  if (flags.rights) await lookAtRights(world, flags, tell);
  const data = asData(flags.output, { items: steps });
  if (data !== undefined) terminal.out(data);
  return steps.some(({ outcome }) => outcome === "Refused") ? 1 : 0;
}

async function prepareTemporal(
  world: World,
  wish: { retention?: number; dryRun: boolean },
  tell: (step: Step) => void,
): Promise<void> {
  const server = await world.server();
  await server.within(patienceMs, async () => {
    const { step, isThere } = await ensureNamespace(server, wish);
    tell(step);
    const columns = { dryRun: wish.dryRun, isNamespaceThere: isThere, sleep: world.sleep };
    // Without a namespace there are no search attributes to read.
    if (isThere || wish.dryRun) tell(await ensureColumns(server, columns));
    if (isThere && await server.asksNobody()) tell(openFrontend(server));
  });
}

function openFrontend({ address }: Server): Step {
  const message =
    `WARNING: ${address} answers clients without credentials, and any of them can drain and replace the ` +
    "machines of every pool; require client certificates or API keys (docs/how-to/temporal.md)";
  return { about: "access to Temporal", outcome: "Warned", message };
}

// Setup can prepare Temporal without Kubernetes. So an unreachable cluster is a failure only if a flag names the
// cluster.
async function lookAtRights(world: World, flags: SetupFlags, tell: (step: Step) => void): Promise<void> {
  const { systemNamespace: system, profileNamespace: profiles } = flags;
  try {
    for (const step of await checkRights(await world.cluster(), { system, profiles })) tell(step);
  } catch (error) {
    const { kubeconfig, context, managementKubeconfig, managementContext } = flags;
    const isNamed = kubeconfig ?? context ?? managementKubeconfig ?? managementContext;
    if (isNamed || !(error instanceof CommandFailure)) throw error;
    tell({ about: "permissions of the processes", outcome: "Unknown", message: `not checked: ${error.message}` });
  }
}

function retentionOf({ retention }: SetupFlags): { retention?: number } {
  if (retention === undefined) return {};
  const seconds = parseDuration(retention) / 1000;
  if (seconds < 86_400) {
    throw new UsageError(`Failed to use "${retention}" as a retention: the minimum of Temporal is one day`);
  }
  return { retention: seconds };
}

// The step that registers the search attributes of workflows; workers register them too, if they are allowed to.

/** Milliseconds to retry while the namespace is not found: a server takes some seconds to see a new namespace. */
const patience = { pause: 500, most: 30_000 };

const about = "search attributes";

interface ColumnsWish extends Manner {
  /** Whether the namespace exists: a dry run does not create it. */
  isNamespaceThere: boolean;
  sleep: (ms: number) => Promise<void>;
}

/** Registers the missing search attributes; a dry run only reports them. */
async function ensureColumns(server: Server, wish: ColumnsWish): Promise<Step> {
  const { address, namespace, cluster, service } = server;
  if (!wish.isNamespaceThere) return { about, outcome: "Wanted", message: "would be registered" };
  const list = { namespace, columns: columnsOf(cluster) };
  let missing: string[];
  try {
    missing = await onceKnown(wish.sleep, () => missingColumns(service, list));
  } catch (error) {
    return { about, outcome: "Refused", message: `cannot be read: ${refusalIn(address, error)}` };
  }
  if (missing.length === 0) return { about, outcome: "Present", message: "already exist" };
  const names = missing.map((name) => `"${name}"`).join(", ");
  if (wish.dryRun) return { about, outcome: "Wanted", message: `would be registered: ${names}` };
  try {
    await onceKnown(wish.sleep, () => ensureSearchAttributes(service, list));
    return { about, outcome: "Created", message: `registered ${names}` };
  } catch (error) {
    // An error without a gRPC code was thrown by Ostler, and its message has the remedy.
    if (codeOf(error) === undefined) return { about, outcome: "Refused", message: (error as Error).message };
    return { about, outcome: "Refused", message: refusalIn(address, error) };
  }
}

async function onceKnown<T>(sleep: (ms: number) => Promise<void>, ask: () => Promise<T>): Promise<T> {
  for (let waited = 0;; waited += patience.pause) {
    try {
      return await ask();
    } catch (error) {
      if (codeOf(error) !== notFound || waited >= patience.most) throw error;
      await sleep(patience.pause);
    }
  }
}

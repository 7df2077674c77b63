/** The columns of the run list, which workers register too, where they may. */
import { ensureSearchAttributes, missingColumns } from "../../activities/temporal/search_attributes.ts";
import { columnsOf } from "../../workflows/commands/start_options.ts";
import type { Server } from "../connect/server.ts";
import { codeOf } from "../connect/temporal_failure.ts";
import { notFound, refusalIn } from "./refusals.ts";
import type { Manner, Step } from "./step.ts";

/** Milliseconds: a server takes some seconds to hear of its own new namespace. */
const patience = { pause: 500, most: 30_000 };

const about = "search attributes";

export interface ColumnsWish extends Manner {
  /** As the step of before left it: nothing can be asked about one that is only wanted. */
  isNamespaceThere: boolean;
  sleep: (ms: number) => Promise<void>;
}

/** Registers the search attributes that are missing. */
export async function ensureColumns(server: Server, wish: ColumnsWish): Promise<Step> {
  const { address, namespace, cluster, service } = server;
  if (!wish.isNamespaceThere) return { about, outcome: "Wanted", message: "would be registered" };
  const list = { namespace, columns: columnsOf(cluster) };
  let missing: string[];
  try {
    missing = await onceKnown(wish.sleep, () => missingColumns(service, list));
  } catch (error) {
    return { about, outcome: "Refused", message: `cannot be looked at: ${refusalIn(address, error)}` };
  }
  if (missing.length === 0) return { about, outcome: "Present", message: "already there" };
  const names = missing.map((name) => `"${name}"`).join(", ");
  if (wish.dryRun) return { about, outcome: "Wanted", message: `would be registered: ${names}` };
  try {
    await onceKnown(wish.sleep, () => ensureSearchAttributes(service, list));
    return { about, outcome: "Created", message: `registered ${names}` };
  } catch (error) {
    // Says what somebody has to do, where it is not the server that failed.
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

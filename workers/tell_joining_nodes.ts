/**
 * Has nodes admitted that were let in: each JoiningNode gets a run of its own. What is there is told again from time to time,
 * so that a run which somebody terminated is started anew; a run that is there takes no harm.
 */
import type { Client } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { joiningNodes } from "../activities/kube/update_kinds.ts";
import { joiningNodeIdOf } from "../workflows/commands/start_options.ts";
import { searchAttributes } from "../workflows/status/search_attributes.ts";
import type { Config } from "./config.ts";

/** Nothing of a record is kept but that it is there: the run reads the rest. */
const records: Resource<{ uid: string }> = {
  ...joiningNodes,
  schema: z.object({ metadata: z.object({ uid: z.string() }) }).transform(({ metadata: { uid } }) => ({ uid })),
};

const defaults = { lookEvery: 1_000, retellAfter: 300_000 };
/** Runs that are started at a time. */
const width = 10;

export interface JoiningDeps extends Pick<InformerDeps<never>, "kube"> {
  admit: (name: string) => Promise<void>;
  log: NonNullable<InformerDeps<never>["log"]>;
  /** Milliseconds. */
  every?: Partial<typeof defaults>;
}

/** Tells of each record until `signal` aborts; one that could not be told is tried at the next look. */
export async function tellJoiningNodes({ kube, admit, log, every }: JoiningDeps, signal: AbortSignal): Promise<void> {
  const { lookEvery, retellAfter } = { ...defaults, ...every };
  const told = new Map<string, { uid: string; at: number }>();
  const watch = new Informer(records, { kube, log, signal });
  await watch.start();
  while (!signal.aborted) {
    const now = Date.now();
    for (const name of told.keys()) if (!watch.get(name)) told.delete(name);
    const isNews = (name: string): boolean => {
      const known = told.get(name);
      return known === undefined || known.uid !== watch.get(name)?.uid || now - known.at > retellAfter;
    };
    const news = watch.keys().filter(isNews);
    for (let at = 0; at < news.length && !signal.aborted; at += width) {
      await Promise.all(
        news.slice(at, at + width).map(async (name) => {
          const uid = watch.get(name)?.uid ?? "";
          await admit(name).then(
            () => told.set(name, { uid, at: now }),
            (error: unknown) => log.warn(`Cannot have joining node "${name}" admitted: it is tried again`, { error }),
          );
        }),
      );
    }
    await setTimeout(lookEvery, undefined, { signal }).catch(() => undefined); // aborting ends the rest early
  }
}

/** Starts the run that admits it, where there is none. */
export async function admitJoiningNode(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.start("admitJoiningNode", {
    workflowId: joiningNodeIdOf(object),
    workflowIdConflictPolicy: "USE_EXISTING",
    taskQueue,
    args: [object],
    staticSummary: `Admit joining node ${name}`,
    staticDetails: `Writes on the node that \`${name}\` announces what it runs, and forgets the record.`,
    ...(cluster === ""
      ? {}
      : { typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.cluster, value: cluster }]) }),
  });
}

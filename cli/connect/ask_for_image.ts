/** Has an image judged by a worker, while a person waits. */
import type { Client } from "@temporalio/client";
import { WorkflowFailedError } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { clusterColumn, imageIdOf } from "../../workflows/commands/start_options.ts";
import type { ImageOutcome } from "../../workflows/contracts/mod.ts";
import { Refusal, TimedOut } from "../failure.ts";
import type { EngineOptions, ImageOrder } from "./engine.ts";

/** Who asks while a run looks already has it look once more, as what it saw may be old. */
export async function askForImage(
  client: Client,
  { taskQueue, cluster }: EngineOptions,
  { name, within }: ImageOrder,
): Promise<ImageOutcome> {
  const object = cluster === "" ? { name } : { cluster, name };
  const handle = await client.workflow.signalWithStart("admitImage", {
    ...{ workflowId: imageIdOf(object), taskQueue, args: [object], signal: "imageChanged", signalArgs: [] },
    workflowExecutionTimeout: "1 day",
    staticSummary: `Admit OS image ${name}`,
    typedSearchAttributes: new TypedSearchAttributes(clusterColumn(cluster)),
  });
  const ended = new AbortController();
  const late = within === 0
    ? new Promise<undefined>(() => {})
    : setTimeout(within, undefined, { signal: ended.signal }).catch(() => undefined); // it was answered
  try {
    const outcome = await Promise.race([handle.result() as Promise<ImageOutcome>, late]);
    if (outcome !== undefined) return outcome;
    const state = `no verdict in ${within / 1000} seconds`;
    throw new TimedOut(`Cannot admit OSImage "${name}": ${state}; is a worker running? It goes on without us`);
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const cause = error.cause?.cause ?? error.cause;
    throw new Refusal(`Cannot admit OSImage "${name}": ${cause instanceof Error ? cause.message : "its run failed"}`);
  } finally {
    ended.abort();
  }
}

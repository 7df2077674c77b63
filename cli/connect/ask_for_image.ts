/** Requests the evaluation of an image by Ostler's worker, and waits for the result. */
import type { Client } from "@temporalio/client";
import { WorkflowFailedError } from "@temporalio/client";
import { TypedSearchAttributes } from "@temporalio/common";
import { setTimeout } from "node:timers/promises";
import { clusterColumn, imageIdOf } from "../../workflows/commands/start_options.ts";
import type { ImageOutcome } from "../../workflows/contracts/mod.ts";
import { Refusal, TimedOut } from "../failure.ts";
import type { ImageOrder } from "./engine.ts";
import { type Home, needOwn, needQueue } from "./home.ts";

/**
 * Requests the evaluation of an image, and returns its result. Starts a workflow run, or signals an open run to
 * evaluate the image again, because that run may have read the registry long ago. Throws Refusal if the run fails, and
 * TimedOut after `within` milliseconds without a result.
 */
export async function askForImage(
  client: Client,
  { cluster, home }: { cluster: string; home: Home },
  { name, within }: ImageOrder,
): Promise<ImageOutcome> {
  needOwn(home, `admit OSImage "${name}"`);
  const taskQueue = needQueue(home, `admit OSImage "${name}"`);
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
    : setTimeout(within, undefined, { signal: ended.signal }).catch(() => undefined); // a result aborts the timer
  try {
    const outcome = await Promise.race([handle.result() as Promise<ImageOutcome>, late]);
    if (outcome !== undefined) return outcome;
    const state = `no result within ${within / 1000} s`;
    throw new TimedOut(
      `Failed to admit OSImage "${name}": ${state}; check that a worker of Ostler runs; the evaluation continues`,
    );
  } catch (error) {
    if (!(error instanceof WorkflowFailedError)) throw error;
    const cause = error.cause?.cause ?? error.cause;
    throw new Refusal(
      `Failed to admit OSImage "${name}": ${
        cause instanceof Error ? cause.message : "its workflow run in Temporal failed"
      }`,
    );
  } finally {
    ended.abort();
  }
}

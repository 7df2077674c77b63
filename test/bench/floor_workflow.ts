/**
 * The least work that a durable publication could be: the workflow gets a signal, runs one local activity, and ends.
 */
import { condition, defineSignal, proxyLocalActivities, setHandler } from "@temporalio/workflow";

const { nothing } = proxyLocalActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: "10s" });

export async function floor(): Promise<void> {
  let isTold = false;
  setHandler(defineSignal("desiredChanged"), () => void (isTold = true));
  await condition(() => isTold);
  await nothing();
}

/** The least that a durable publication could be: a signal of a change, one local activity, the end. */
import { condition, defineSignal, proxyLocalActivities, setHandler } from "@temporalio/workflow";

const { nothing } = proxyLocalActivities<{ nothing(): Promise<void> }>({ startToCloseTimeout: "10s" });

export async function floor(): Promise<void> {
  let isTold = false;
  setHandler(defineSignal("desiredChanged"), () => void (isTold = true));
  await condition(() => isTold);
  await nothing();
}

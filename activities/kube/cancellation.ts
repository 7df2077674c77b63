/** Whether the try of an activity that runs here is still wanted. */
import { asyncLocalStorage } from "@temporalio/activity";

/**
 * Stops a try that was cancelled or timed out, before its next effect; another may be at work already. Outside of an
 * activity nothing is called off.
 */
export function throwIfCalledOff(): void {
  asyncLocalStorage.getStore()?.cancellationSignal.throwIfAborted();
}

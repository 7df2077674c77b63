/** Lifecycle hooks, for which a group waits before it terminates an instance. */
import type { Instance } from "../driver.ts";
import { failureTypeOf } from "../../failures.ts";
import type { AwsApi } from "./api.ts";
import type { Membership } from "./instance_of.ts";

/** Heartbeat timeout of a hook in seconds: the default of AWS, and its maximum. */
const usualSeconds = 3_600;
const mostSeconds = 7_200;

/** Returns whether an instance waits for the hooks of its termination. */
export function isWaiting({ LifecycleState }: Membership): boolean {
  return LifecycleState === "Terminating:Wait";
}

/**
 * Returns the termination hooks of a group, and their longest heartbeat timeout, after which AWS terminates the
 * instance; without permission to read hooks, returns the default timeout.
 */
export async function readHook(api: AwsApi, group: string): Promise<NonNullable<Instance["waitsFor"]>> {
  const answer = await api.ask({
    attempt: `read the lifecycle hooks of "${group}"`,
    call: ({ scaling }, options) => scaling.describeLifecycleHooks({ AutoScalingGroupName: group }, options),
  }).catch((error: unknown) => {
    if (failureTypeOf(error) === "AccessDenied") return { LifecycleHooks: [] };
    throw error;
  });
  const ending = answer.LifecycleHooks?.filter(({ LifecycleTransition: of = "" }) => of.endsWith("TERMINATING")) ?? [];
  const names = ending.map(({ LifecycleHookName = "" }) => `"${LifecycleHookName}"`).join(", ");
  const hooks = names === "" ? "a termination lifecycle hook" : `lifecycle hook ${names}`;
  const seconds = Math.max(...ending.map(({ HeartbeatTimeout }) => HeartbeatTimeout ?? usualSeconds), 0) ||
    usualSeconds;
  return {
    what: `the Auto Scaling group waits for CompleteLifecycleAction of ${hooks}`,
    longestMs: Math.min(seconds, mostSeconds) * 1_000,
  };
}

/** Finds the scaling groups of a cluster in its cloud. Started by the Schedule `discover-scaling-groups`. */
import { proxyActivities, setCurrentDetails } from "@temporalio/workflow";
import type { DiscoveryActivities, DiscoveryResult } from "./contracts/mod.ts";

// What the cloud does not tell now, the next look of the Schedule asks for again.
const { ensureGroupsDiscovered } = proxyActivities<DiscoveryActivities>({
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "10m",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 20 },
});

/** Makes an object for each that has none, and removes those of groups that are gone. */
export async function discoverScalingGroups({ cluster }: { cluster?: string }): Promise<DiscoveryResult> {
  const object = cluster === undefined ? { name: "" } : { cluster, name: "" };
  const found = await ensureGroupsDiscovered.executeWithOptions({ summary: "Look for scaling groups" }, [{ object }]);
  setCurrentDetails(`Made ${found.made.length} and removed ${found.removed.length} of ${found.groups} scaling groups`);
  return found;
}

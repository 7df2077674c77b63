/** Reads from the status of a NodeVersion which upgrade of Kubernetes a person cancelled. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { VersionUpgrade } from "../../workflows/contracts/mod.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { retryOf } from "./asked.ts";

/** The type of the condition that an upgrade reports. */
export const upgradeCondition = "KubernetesUpgraded";
/** The reason of a cancelled upgrade. */
export const cancelledReason = "UpgradeCancelled";

/** Maximum characters of a message that are read, because a workflow's history and another condition quote it. */
const longestReport = 2_000;

/** Identifies an upgrade: a cancellation ends when the version, the components or the retry annotation change. */
const CancelledUpgrade = z.object({ version: z.string(), components: z.string(), retry: z.string() });
type CancelledUpgrade = z.infer<typeof CancelledUpgrade>;

/** Returns the upgrade that a NodeVersion asks for now. */
export function askedUpgrade({ metadata, spec }: Pick<NodeVersion, "metadata" | "spec">): CancelledUpgrade {
  const { kubernetesClusterVersion: version, kubernetesComponentsReference: components } = spec;
  return { version, components, retry: retryOf(metadata) };
}

/**
 * Returns whether a person cancelled the upgrade, and the message of condition KubernetesUpgraded; the message is ""
 * unless the condition is False.
 */
export function upgradeStateOf(version: NodeVersion): VersionUpgrade {
  const { status } = version;
  const cancelled = CancelledUpgrade.safeParse(status?.["cancelledUpgrade"]).data;
  const told = status?.conditions.find(({ type }) => type === upgradeCondition);
  const says = told?.status === "False" ? told.message.slice(0, longestReport) : "";
  return { state: isDeepStrictEqual(cancelled, askedUpgrade(version)) ? "Cancelled" : "Possible", says };
}

/** Reads which upgrade of Kubernetes a person cancelled; the status of the NodeVersion records that. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { VersionUpgrade } from "../../workflows/contracts/mod.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { retryOf } from "./asked.ts";

/** The type of the condition that an upgrade reports. */
export const upgradeCondition = "KubernetesUpgraded";
/** The reason of a cancelled upgrade. */
export const cancelledReason = "UpgradeCancelled";

/** Maximum characters of a message that are read: a workflow's history stores them, another condition quotes them. */
const longestReport = 2_000;

/** Identifies an upgrade: a cancellation ends with another version, other components, or a new retry annotation. */
const CancelledUpgrade = z.object({ version: z.string(), components: z.string(), retry: z.string() });
type CancelledUpgrade = z.infer<typeof CancelledUpgrade>;

/** Returns the upgrade that a NodeVersion asks for now. */
export function askedUpgrade({ metadata, spec }: Pick<NodeVersion, "metadata" | "spec">): CancelledUpgrade {
  const { kubernetesClusterVersion: version, kubernetesComponentsReference: components } = spec;
  return { version, components, retry: retryOf(metadata) };
}

/** Returns whether the upgrade may run, and the message of its condition, which is "" once the upgrade is complete. */
export function upgradeStateOf(version: NodeVersion): VersionUpgrade {
  const { status } = version;
  const cancelled = CancelledUpgrade.safeParse(status?.["cancelledUpgrade"]).data;
  const told = status?.conditions.find(({ type }) => type === upgradeCondition);
  const says = told?.status === "False" ? told.message.slice(0, longestReport) : "";
  return { state: isDeepStrictEqual(cancelled, askedUpgrade(version)) ? "Cancelled" : "Possible", says };
}

/** The upgrade of Kubernetes that a person cancelled, as the status of its NodeVersion keeps it until a person asks again. */
import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import type { VersionUpgrade } from "../../workflows/contracts/mod.ts";
import type { NodeVersion } from "../kube/update_kinds.ts";
import { retryOf } from "./asked.ts";

/** The type of the condition that an upgrade reports. */
export const upgradeCondition = "KubernetesUpgraded";
/** The reason of a cancelled upgrade. */
export const cancelledReason = "UpgradeCancelled";

/** Characters of a report that count, as the survey with it is stored in a history, and part of another condition. */
const longestReport = 2_000;

/** The cancelled upgrade: another version, other components or a new request for an attempt are another upgrade. */
const CancelledUpgrade = z.object({ version: z.string(), components: z.string(), retry: z.string() });
type CancelledUpgrade = z.infer<typeof CancelledUpgrade>;

/** Returns the upgrade that a NodeVersion asks for now. */
export function askedUpgrade({ metadata, spec }: Pick<NodeVersion, "metadata" | "spec">): CancelledUpgrade {
  const { kubernetesClusterVersion: version, kubernetesComponentsReference: components } = spec;
  return { version, components, retry: retryOf(metadata) };
}

/** Returns whether an upgrade may run, and the last report if it is not complete. */
export function upgradeStateOf(version: NodeVersion): VersionUpgrade {
  const { status } = version;
  const cancelled = CancelledUpgrade.safeParse(status?.["cancelledUpgrade"]).data;
  const told = status?.conditions.find(({ type }) => type === upgradeCondition);
  const says = told?.status === "False" ? told.message.slice(0, longestReport) : "";
  return { state: isDeepStrictEqual(cancelled, askedUpgrade(version)) ? "Cancelled" : "Possible", says };
}

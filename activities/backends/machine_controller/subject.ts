/** The MachineDeployment that a Rollout and its Events are about. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import type { Kube } from "../../kube/client.ts";
import { machineDeployments, readObject } from "../../kube/resources.ts";
import { seenDeployment } from "../../kube/seen_deployment.ts";
import { ifFound } from "../../kube/status.ts";
import type { Subject } from "../../status/events.ts";

/** As it was seen last by this process, or read now; undefined when it is gone. */
export async function readSubject(kube: Kube, pool: PoolRef): Promise<Subject | undefined> {
  // One that goes in this moment has its Rollout collected after it.
  return seenDeployment(kube, pool) ?? (await ifFound(readObject(kube, machineDeployments, pool)))?.metadata;
}

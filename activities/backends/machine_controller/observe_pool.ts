/** The machines of a MachineDeployment as its Machines and MachineSets tell them. */
import type { PoolRef } from "../../../workflows/contracts/mod.ts";
import { moot } from "../../failures.ts";
import type { Kube } from "../../kube/client.ts";
import { listObjects, machineDeployments, machines, readObject } from "../../kube/resources.ts";
import type { MachineSet } from "../../kube/schemas.ts";
import { attempting, ifFound } from "../../kube/status.ts";
import type { Observation } from "../contract.ts";
import { templateHashLabel } from "../../kube/machine_deployment.ts";
import { isCurrent } from "./machine_sets.ts";
import { memberOf } from "./member.ts";
import { selectorOfEmpty } from "./pool_watch.ts";
import { ownMachines } from "./owned.ts";

/** Reads them all; without any machine it is not asked which template is wanted. */
export function observePool(kube: Kube, pool: PoolRef): Promise<Observation> {
  return attempting(`read the machines of "${pool.namespace}/${pool.name}"`, () => observe(kube, pool));
}

async function observe(kube: Kube, pool: PoolRef): Promise<Observation> {
  const { namespace, name } = pool;
  const labelSelector = selectorOfEmpty(kube, pool);
  const isBare = labelSelector !== "" && (await listObjects(kube, machines, { namespace, labelSelector })).length === 0;
  if (isBare) return { members: [], templateHash: "", counted: new Map() };
  const deployment = await ifFound(readObject(kube, machineDeployments, { namespace, name }));
  if (!deployment) throw moot("GenerationStale", `Cannot read the machines of "${name}": it is gone`);
  const owned = await ownMachines(kube, deployment);
  return {
    members: owned.machines.map((machine) => memberOf(pool, machine)),
    templateHash: hashOf(owned.sets.find((set) => isCurrent(set, deployment))),
    counted: new Map(owned.sets.map((set) => [hashOf(set), set.status?.readyReplicas ?? 0])),
  };
}

function hashOf(set: MachineSet | undefined): string {
  return set?.metadata.labels?.[templateHashLabel] ?? "";
}

/** What a pool asks for now. */
import type { Rules } from "./rules.ts";

/** What a MachineDeployment asks for now. */
export interface Desired {
  generation: number;
  /** Identity of everything a rollout depends on; the controller signals when it changes. */
  observed: string;
  /** The part of it that decides what machines boot with; scaling leaves it alone. */
  change: string;
  /** The same without machine-controller's numbering: equal again when an earlier template is applied again. */
  specHash: string;
  /** Who wrote the template last, as far as the API server knows: a field manager. */
  actor: string;
  /** machine-controller has seen this generation and numbered its template. */
  settled: boolean;
  revision: string;
  templateHash: string;
  replicas: number;
  /** Machines above `replicas` while rolling; with 0 machine-controller removes an old machine first. */
  surge: number;
  /** Its machines are members of etcd: one at a time goes, in all groups of a cluster, and none while etcd is in doubt. */
  isControlPlane?: true;
  image: string;
  kubelet: string;
  profile: { name: string; namespace: string };
}

export type DesiredState =
  | { state: "Gone" }
  | { state: "Deleting" }
  | { state: "Present"; desired: Desired; rules: Rules };

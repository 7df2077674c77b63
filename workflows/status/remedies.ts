/** Remedies for a person to apply outside of Ostler; the key is the reason that the rollout reports. */
export const remedies: Record<string, string> = {
  PolicyConflict: "Make the selector of one RolloutPolicy more specific, or delete one of them.",
  Quarantined: "Change the MachineDeployment: Ostler rolls out a changed spec without a retry.",
  TooManyUnhealthy: "Check the nodes for a common cause: so many machines rarely become unhealthy on their own.",
  PodsRemaining: "Let the pods listed above move to other nodes, or change the drain rules of the policy.",
  OutsideWindow: "Wait for the next window, or change the windows of the policy.",
  WindowTooShort: "Wait for the next window, or change the windows of the policy.",
  SetAside: "Let the pods of the machines that were set aside move to other nodes, then retry.",
  ProtectedRemain:
    "Remove the protection in the cloud, or skip the machines; protectedMachines of the policy can skip them all.",
  ControlPlaneRefused:
    "Set the setting hands-image of Ostler's worker and allow downloads (docs/how-to/control-planes.md), or upgrade the control planes with kubeadm.",
  GroupClaimedTwice: "Delete one of the two ScalingGroups: each would count and pace the same machines separately.",
  NodeClaimedTwice: "Change the nodeSelector of one of the NodePools: each would bring the node to its own image.",
  ProfileNotApproved: "Review the profile, then add its digest to approvedProfiles of the named RolloutPolicy.",
  ImageNotAccepted: "Run ostler image show to see why: Ostler rolls out only accepted images.",
  HandsMissing:
    "Set the setting hands-image of Ostler's worker (docs/explanation/hands.md): without it, Ostler cannot change the OS of a node.",
  NodeUnclear:
    "Give each instance an address of its own, or delete the Machine without an instance: its Node may belong to another Machine.",
  EtcdInDoubt:
    "Fix the named etcd member (docs/how-to/control-planes.md): until then Ostler adds and removes no control plane.",
  EtcdAccessMissing: "Put ca.crt, tls.crt and tls.key of etcd into the named Secret: the message has the cause.",
  FailedRemain: "The named machines keep their current image: run ostler explain to see what failed, then retry.",
  DownRemain: "Bring the named machines back, or delete their Nodes: Ostler does not touch these machines.",
  StageRefused: "Fix the problem in the message, then retry; nothing on the machine was stopped.",
  ApplyRefused: "Fix the problem in the message, then retry; the machine is in service with its previous image.",
  UpdateRolledBack: "The image failed to boot and the machine runs the previous one: fix the image, or roll back.",
  UpdateNotReady: "The machine runs the image, but its Node is not Ready: check its kubelet, then retry or roll back.",
  UpdateNotBooted: "The machine did not reboot when ordered: check what inhibits the reboot, then retry.",
  UpdateLost:
    "The machine did not come back: check its console. It keeps its slot until you retry, change the image or delete the Node.",
  GatesFailed: "The machine runs the image and fails a gate: it stays cordoned until retry or rollback.",
  GateFailed: "The last good revision itself fails a gate: fix what the gate measures, or the gate, then retry.",
  ReplacementRefused:
    "Restore the image of the MachineDeployment and set the new image in the NodePool, or set onImageChange of the policy to ReplaceIfRefused.",
  SpecReapplied: "Find the client that applies the bad spec again (GitOps?) and change the spec there.",
  RolledBack:
    "The failed spec is quarantined: if it is applied again, Ostler waits until you change it or run ostler retry.",
  Aborted:
    "The aborted spec is quarantined: if it is applied again, Ostler waits until you change it or run ostler retry.",
  LastGoodMissing: "Apply a spec that is known to be good: the last good one no longer exists.",
};

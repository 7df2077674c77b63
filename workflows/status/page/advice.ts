/** What a person can do about a rollout as it stands: the command line, and the update for the web UI's own form. */
import type { Progress } from "../../contracts/mod.ts";
import { isOver } from "./parts.ts";
import { code } from "./text.ts";

interface Pool {
  namespace: string;
  name: string;
}

/** One way to act: why one would, the verb, and what it takes beyond who asks. */
interface Way {
  why: string;
  verb: string;
  takes?: { flags: string; fields: Record<string, unknown> };
}

/** What has to change elsewhere, then what can be asked here; what is most likely wanted first. */
export function advice(pool: Pool, progress: Progress): string[] {
  const hint = hints[progress.reason];
  const lines = ways(progress).map((way) => line(pool, way));
  const input = code(JSON.stringify({ by: "you", reason: "why" }));
  return [
    ...(hint ? [`**What now** ${hint}`] : []),
    ...(lines.length === 0 ? [] : [
      `**You can** do these on the command line, or here as updates of the same names with ${input}`,
      lines.join("\n"),
    ]),
  ];
}

/** What has to change outside of Ostler. */
const hints: Record<string, string> = {
  PolicyConflict: "Make the selector of one RolloutPolicy more specific, or delete one of them.",
  Quarantined: "Change the MachineDeployment: another spec is tried by itself.",
  TooManyUnhealthy: "Look at the nodes: so many at once are rarely the machines' own fault.",
  PodsRemaining:
    "Let the pods move: above stands what protects them. The policy's drain rules may be changed meanwhile.",
  OutsideWindow: "It goes on by itself in the next window; the policy's windows may be changed meanwhile.",
  WindowTooShort: "It goes on by itself in the next window; the policy's windows may be changed meanwhile.",
  SetAside: "Let the pods of the machines that were set aside move, then try again.",
  ProtectedRemain:
    "Take the protection away in the cloud, or skip the machines; the policy's protectedMachines may say so for all.",
  ControlPlaneRefused:
    "Upgrade Kubernetes of control planes by hand: they are replaced for another image, and not for other components yet.",
  GroupClaimedTwice: "Delete one of the two ScalingGroups: each would count and pace the same machines for itself.",
  NodeClaimedTwice: "Change the nodeSelector of one of the NodePools: each would bring the node to its own image.",
  ImageNotAccepted: "See why with ostler image show: an image that is not accepted is rolled out nowhere.",
  HandsMissing: "Set hands-image on the worker: without it nobody may touch the OS of a node.",
  EtcdInDoubt:
    "Mend the member of etcd that is named: until then no control plane comes or goes. docs/how-to/control-planes.md says how.",
  EtcdAccessMissing:
    "Put ca.crt, tls.crt and tls.key of etcd into the Secret that is named: see the message for what is wrong.",
  FailedRemain:
    "The machines that are named keep what they run: ostler explain tells what failed there, retry tries again.",
  DownRemain:
    "Bring the machines that are named back, or take their Nodes out of the cluster: nothing is done with them.",
  StageRefused: "Mend what the machine names, then retry; nothing on it was stopped.",
  ApplyRefused: "Mend what the machine names, then retry; it serves as before.",
  UpdateRolledBack: "The image did not come up and the machine runs the one before: mend the image, or go back.",
  UpdateNotReady: "The machine runs the image, but not as a node: look at its kubelet, then retry or go back.",
  UpdateNotBooted: "The machine was told to boot and did not: look what inhibits it, then retry.",
  UpdateLost:
    "Look at the machine's console: it went down and did not come back. It keeps its place until retry, until another image is wanted, or until its Node is deleted.",
  GatesFailed: "The machine runs the image and fails a gate: it stays cordoned until retry, or until it is back.",
  GateFailed: "The last good revision itself fails a gate: mend what the gate looks at, or the gate, then retry.",
  ReplacementRefused:
    "Put the image back and name the new one in the NodePool, or let the policy say ReplaceIfRefused.",
  SpecReapplied: "Find who applies the bad spec again (GitOps?) and change it there.",
  RolledBack: "The spec that failed is remembered: applied again it is held, until it changes or somebody sends retry.",
  Aborted: "The spec that was left is remembered: applied again it is held, until it changes or somebody sends retry.",
  LastGoodMissing: "Apply a spec that is known to be good: the last good one is not to be found any more.",
};

function ways(progress: Progress): Way[] {
  const { phase, paused, plan, reason, rollBack } = progress;
  if (isOver(phase)) return [];
  const isSoaking = progress.waves.some(({ state }) => state === "Soaking");
  const all: [boolean, Way][] = [
    [paused, { why: "Go on", verb: "resume" }],
    [plan !== undefined && reason === "AwaitingApproval", approval(plan?.hash ?? "")],
    [reason === "GateInconclusive", { why: "Take the gate as passed", verb: "promote" }],
    [reason === "EtcdInDoubt", { why: "Go on although that is in doubt, upon you", verb: "promote" }],
    [isSoaking, { why: "End the soak now", verb: "promote" }],
    [phase === "Halted" && reason !== "SpecReapplied", { why: "Try again, with fresh attempts", verb: "retry" }],
    [!paused && phase !== "Halted", { why: "Admit no more machines", verb: "pause" }],
    [!rollBack && phase !== "Creating" && phase !== "Preparing" && phase !== "Repairing", {
      why: "Go back to the last good revision",
      verb: "abort",
    }],
  ];
  return all.filter(([holds]) => holds).map(([, way]) => way);
}

function approval(hash: string): Way {
  return { why: "Let it begin", verb: "approve", takes: { flags: `--plan ${hash}`, fields: { plan: hash } } };
}

function line({ namespace, name }: Pool, { why, verb, takes }: Way): string {
  const command = ["ostler", verb, name, "-n", namespace, takes?.flags].filter(Boolean).join(" ");
  const fields = takes ? `; the update also takes ${code(JSON.stringify(takes.fields))}` : "";
  return `- ${why}: ${code(command, 300)}${fields}`;
}

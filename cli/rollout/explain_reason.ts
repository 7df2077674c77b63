/** `ostler explain REASON`: the meaning of a reason in a condition, the next step of Ostler, and the remedy. */
import {
  conditionsOfReason,
  type UpgradeReason,
  upgradeReason,
  upgradeReasons,
} from "../../workflows/kubernetes/upgrade_reasons.ts";
import { remedies } from "../../workflows/status/remedies.ts";
import { Refusal } from "../failure.ts";
import { styled, type Terminal } from "../terminal.ts";
import { asData, type Format } from "../view/output.ts";
import { printable } from "../view/printable.ts";
import { titledLines } from "../view/titled_lines.ts";
import { nearText } from "./near_names.ts";

/** Names of objects in Kubernetes have no capital letters, so a name in PascalCase is a reason. */
const form = /^[A-Z][A-Za-z]*$/;

const fixPool = "Fix the MachineDeployment: the message names the field.";
const fixProfile = "Fix the profile: the message names field, file and line.";
const otherProfile = "Choose a profile that fits the operating system and the provider of the machines.";

/**
 * The remedies of all reasons of pools. Temporal's web UI shows only `remedies`, because the messages of the other
 * reasons already have what it needs.
 */
const ofPools: Record<string, string> = {
  ...remedies,
  Paused: "Run ostler resume: until then the pause also holds later rollouts.",
  AwaitingApproval: "Run ostler plan, then ostler approve with the hash that the plan shows.",
  ClusterBudget: "Wait until other pools give slots back, or raise budget.cluster of the policy.",
  GateInconclusive:
    "Ostler evaluates the gate every ten minutes: ostler retry evaluates it at once, ostler promote accepts it as passed.",
  OnlySkippedRemain: "Nothing, or run ostler retry to replace the skipped machines too.",
  ProfileMissing: "Create the profile, or correct annotation k8c.io/operating-system-profile of the MachineDeployment.",
  ProfileInvalid: fixProfile,
  RenderFailed: fixProfile,
  OperatingSystemMismatch: otherProfile,
  ProviderUnsupported: otherProfile,
  UtilityMismatch: otherProfile,
  ProviderConfigInvalid: fixPool,
  KubeletVersionInvalid: fixPool,
  KubeletSettingsInvalid: fixPool,
  CloudConfigInvalid: fixPool,
  ParameterInvalid: fixPool,
  CredentialsMissing: "Create the Secret or ServiceAccount that the message names.",
  NameCollision: "Create one of the two MachineDeployments in the message under another name.",
  JoinAttemptsExhausted:
    "Run ostler logs to see the join stage at which machines stop, fix the cause, then run ostler retry.",
  SettleExpired: "See the log of machine-controller. If the message names spec.paused, set it to false.",
  MachineRemains: "See the log of machine-controller, or the events of the scaling group in its cloud.",
  InternalError: "Report the message: Ostler retries every ten minutes, and so does a newer version.",
  AccessDenied:
    "Apply deploy/kubernetes or the chart of this version of Ostler: a permission in the message is missing.",
  ObjectInvalid: "Correct the object in the message; the CRDs must be of the same version as Ostler.",
  CloudRefused: "Check setting cloud of Ostler's worker, and its permissions in the cloud.",
};

/** Returns whether a text is a reason and not a name of an object. */
export function isReason(text: string): boolean {
  return form.test(text);
}

/** Prints the meaning of a reason, without any request; throws Refusal with similar reasons if it is unknown. */
export function explainReason(terminal: Terminal, reason: string, output: Format): number {
  const upgrade = upgradeReason(reason);
  const remedy = Object.hasOwn(ofPools, reason) ? ofPools[reason] : undefined;
  if (upgrade === undefined && remedy === undefined) {
    const known = new Set([...upgradeReasons, ...Object.keys(ofPools)]);
    const where = "docs/how-to/operate.md has the conditions and reasons of pools";
    throw new Refusal(
      `Failed to explain reason "${printable(reason, 60)}": unknown reason${nearText(reason, known) || `; ${where}`}`,
    );
  }
  const data = {
    reason,
    ...(upgrade === undefined
      ? {}
      : Object.fromEntries(conditionsOfReason(reason).map((condition) => [keyOf(condition), upgrade]))),
    ...(remedy === undefined ? {} : { pool: { todo: remedy } }),
  };
  const lines = [
    ...(upgrade === undefined ? [] : upgradeLines(terminal, reason, upgrade)),
    ...(upgrade === undefined || remedy === undefined ? [] : [""]),
    ...(remedy === undefined
      ? []
      : [headOf(terminal, `${reason}, of a pool`), ...titledLines(terminal, [["to do", remedy]])]),
  ];
  terminal.out(asData(output, data) ?? `${lines.join("\n")}\n`);
  return 0;
}

function upgradeLines(terminal: Terminal, reason: string, { means, next, todo }: UpgradeReason): string[] {
  const conditions = conditionsOfReason(reason);
  const title = `${reason}, of condition${conditions.length === 1 ? "" : "s"} ${conditions.join(" and ")}`;
  return [
    headOf(terminal, title),
    ...titledLines(terminal, [["meaning", means], ["next", next], ["to do", todo]]),
  ];
}

/** Returns the key for a condition in JSON and YAML output, such as `kubernetesUpgraded`. */
function keyOf(condition: string): string {
  return `${condition.charAt(0).toLowerCase()}${condition.slice(1)}`;
}

function headOf(terminal: Terminal, text: string): string {
  return styled(terminal, "bold", text);
}

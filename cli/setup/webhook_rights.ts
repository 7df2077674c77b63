/** Permissions of the webhook, which is optional and uses a mounted certificate or creates its own. */
import { holdName } from "../../activities/kube/machine_deployment.ts";
import { besideProcesses, type Places, type Right, rights, within } from "./rights.ts";
import type { Step } from "./step.ts";

/** The Secret of the webhook's certificate, in the namespace of the processes. */
const authority = "ostler-webhook-authority";

export interface WebhookRights {
  /** The cluster in messages, such as " in the worker cluster"; "" if there is only one cluster. */
  where: string;
  /** Whether the cluster has the pools, whose new machines must be held. */
  isForPools: boolean;
  /** The permissions that every webhook needs, with any kind of certificate. */
  judging: Right[];
  /**
   * The permissions of a webhook that creates and renews its own certificate, and writes its CA into webhook
   * configurations; not needed with cert-manager.
   */
  certificate: Right[];
}

const pools = "operatingsystemmanager.k8c.io";
const admission = "admissionregistration.k8s.io";

/**
 * Returns the permissions that `deploy/kubernetes/webhook` grants; with a management cluster, the permissions that the
 * chart grants in each of the two clusters.
 */
export function webhookRightsOf({ system, profiles }: Places, isSplit = false): WebhookRights[] {
  const readProfiles = rights("get", "operatingsystemmanager.k8c.io", "operatingsystemprofiles");
  const validating = rights("get update", admission, "validatingwebhookconfigurations");
  const certificate = besideProcesses(within(system, [
    ...rights("create", "", "secrets"),
    ...named(authority, rights("get update", "", "secrets")),
  ]));
  const trusting = named(pools, mutating);
  if (!isSplit) {
    const judging = [...readProfiles, ...ofPools];
    const own = [...certificate, ...trusting, ...named(pools, validating)];
    return [{ where: "", isForPools: true, judging, certificate: own }];
  }
  const own = [...certificate, ...besideProcesses(named(`${profiles}.${pools}`, validating))];
  return [
    { where: " in the management cluster", isForPools: false, judging: readProfiles, certificate: own },
    { where: " in the worker cluster", isForPools: true, judging: [...ofPools, ...trusting], certificate: [] },
  ];
}

const mutating = rights("get update", admission, "mutatingwebhookconfigurations");
const ofPools = [
  ...rights("get", "ostler.dev", "rollouts"),
  ...named(holdName, [
    ...mutating,
    ...rights("get", admission, "mutatingadmissionpolicies mutatingadmissionpolicybindings"),
  ]),
];

function named(name: string, needed: Right[]): Right[] {
  return needed.map((right) => ({ ...right, name }));
}

/** The permissions that a webhook may need, and those that it lacks. */
interface WebhookLook extends WebhookRights {
  /** The missing permissions of `judging`. */
  duties: Right[];
  /** The missing permissions of `certificate`. */
  own: Right[];
  /** Whether the cluster needs no webhook to hold new machines: it has MutatingAdmissionPolicies, or no pools. */
  isHeld: boolean;
}

/**
 * Returns whether the webhook has its permissions. Infers from the granted permissions which webhook is installed:
 * none, one with a self-made certificate, or one with a mounted certificate.
 */
export function judgeWebhook(
  { isForPools, judging, certificate, duties, own, isHeld }: WebhookLook,
  words: (missing: Right[]) => string,
): Pick<Step, "outcome" | "message"> {
  const isAbsent = duties.length === judging.length && own.length === certificate.length;
  if (isAbsent && isHeld) {
    const holds = "a MutatingAdmissionPolicy can hold new machines in this cluster, so the webhook is not required";
    const message = `none, as expected without an installed webhook${isForPools ? `; ${holds}` : ""}`;
    return { outcome: "Present", message };
  }
  const lacks = `missing permissions: ${words([...duties, ...own])}`;
  if (isAbsent) {
    const message =
      `${lacks}; without MutatingAdmissionPolicies only the webhook can hold new machines until their rollout starts ` +
      "them: apply deploy/overlays/before_1.36";
    return { outcome: "Refused", message: `${message}, or the chart` };
  }
  const isMounted = own.length === certificate.length;
  if (duties.length === 0 && own.length === 0) return { outcome: "Present", message: "all permissions present" };
  if (duties.length === 0 && isMounted) {
    const message = `all permissions for a mounted certificate present; for a self-made one, ${lacks}`;
    return { outcome: "Present", message };
  }
  const missing = isMounted ? duties : [...duties, ...own];
  return {
    outcome: "Refused",
    message: `missing permissions: ${words(missing)}; apply deploy/kubernetes/webhook, or the chart`,
  };
}

/**
 * Defines the pod ("hand") that executes an order of an upgrade on a node, and reads the result that the pod reports.
 */
import type { V1Pod } from "@kubernetes/client-node";
import { createHash } from "node:crypto";
import { z } from "zod";
import type { RenewalOrder, UpgradeOrder, UpgradeOutcome } from "../../workflows/contracts/mod.ts";
import type { HandOrder } from "../os/hand.ts";
import { stallSeconds } from "../os/hand_pod.ts";
import { judged, orderFields } from "../os/order.ts";
import { jsonIn, mostBytes, plain } from "../os/verdict.ts";
import { type Component, componentsIn } from "./components.ts";

/**
 * The command of the pod. The admission policy in `deploy/kubernetes/hands/limit_hands.yaml` contains the same command,
 * so both must change together.
 */
const command = ["/bin/sh", "-c", 'exec /bin/sh /hands/upgrade.sh "$@" >/dev/termination-log', "hand"];
/** Number of arguments before the components. */
const ownArguments = 5;

const Renewal = z.strictObject({
  ...orderFields,
  object: z.object({ name: z.string().min(1).max(253) }).loose(),
  version: z.string().regex(/^v1\.[0-9]{1,3}\.[0-9]{1,3}$/),
});
const Order = Renewal.extend({
  verb: z.enum(["Plan", "Fetch", "Apply", "Node", "Kubelet"]),
  digest: z.string().min(1).max(128),
});

/** Throws Refused (ObjectInvalid) for an invalid order; the message names the invalid fields, but not their values. */
export function validateUpgrade(order: UpgradeOrder): void {
  judged(Order, order, "an upgrade step");
}

/** Throws Refused (ObjectInvalid) for an invalid order; the message names the invalid fields, but not their values. */
export function validateRenewal(order: RenewalOrder): void {
  judged(Renewal, order, "a renewal of certificates");
}

/** Returns the pod that executes a valid order with these components, and how its result is read. */
export function upgradeHandOf(order: UpgradeOrder, components: readonly Component[]): HandOrder<UpgradeOutcome> {
  const programs = components.map(({ path, hash, url }) => `${path} ${hash} ${url}`);
  return handOf({ ...order, name: upgradeNameOf(order), kind: "upgrade step" }, programs);
}

/** Returns the pod that renews the certificates of a control plane, and how its result is read. */
export function renewalHandOf(order: RenewalOrder): HandOrder<UpgradeOutcome> {
  const renewal = { ...order, verb: "Renew", digest: "" } as const;
  return handOf({ ...renewal, name: upgradeNameOf(renewal), kind: "order to renew certificates" }, []);
}

type Named = Omit<RenewalOrder, "object" | "token"> & { verb: string; name: string; kind: string };

function handOf({ node, uid, until, verb, version, name, kind }: Named, programs: string[]): HandOrder<UpgradeOutcome> {
  return {
    ...{ name, node, uid, until, command, kind, verb },
    args: (end) => [verb, version, name, String(Math.ceil(end / 1000)), String(stallSeconds), ...programs],
    verdictIn: upgradeVerdictIn,
    // The order's systemd unit on the host outlives its pod, and the next pod of the order reports the result of the
    // unit.
    isRepeatable: true,
    failed: () => undefined,
    unknown: (message) => ({ outcome: "Unknown", message }),
  };
}

/** Returns the components in the arguments of an order's pod; undefined if they are invalid. */
export function componentsOfHand({ spec }: V1Pod): Component[] | undefined {
  const list = (spec?.containers[0]?.args ?? []).slice(ownArguments).map((word) => {
    const [installPath, hash, url] = word.split(" ");
    return { installPath, hash, url };
  });
  const read = componentsIn(JSON.stringify(list));
  return "components" in read ? read.components : undefined;
}

/** Returns the name of the pod for an order, and of its systemd unit on the host; equal for equal orders. */
export function upgradeNameOf(
  { uid, verb, version, digest, token }: Omit<RenewalOrder, "object" | "node"> & { verb: string; digest: string },
): string {
  const words = JSON.stringify([uid, verb, version, digest, token]);
  const hash = createHash("sha256").update(words).digest("hex").slice(0, 24);
  return `ostler-upgrade-${verb.toLowerCase()}-${hash}`;
}

const reason = z.enum([
  "DownloadFailed",
  "HashMismatch",
  "NotFetched",
  "KubeadmRefused",
  "KubeletFailed",
  "ToolMissing",
  "AuthorityExternal",
  "RestartFailed",
]);
const message = z.string().max(mostBytes).transform((text) => withoutTokens(plain(text)));
const Verdict = z.discriminatedUnion("outcome", [
  z.strictObject({ outcome: z.literal("Done"), reason: z.literal(""), message }),
  z.strictObject({ outcome: z.literal("Refused"), reason, message }),
]);

/**
 * Returns the outcome in a termination message; undefined if it is not a valid result. A compromised node may report
 * anything.
 */
export function upgradeVerdictIn(said: string): UpgradeOutcome | undefined {
  const verdict = said.length > mostBytes ? undefined : Verdict.safeParse(jsonIn(said)).data;
  if (verdict?.outcome !== "Done") return verdict;
  return { outcome: "Done", message: verdict.message };
}

/** Removes bootstrap tokens, which kubeadm's messages may quote. */
function withoutTokens(text: string): string {
  return text.replace(/\b[a-z0-9]{6}\.[a-z0-9]{16}\b/g, "…");
}

/** The skew between Kubernetes versions that the published policy does not support; pure. */
import { compareVersions, minorOf, plainStart } from "../../activities/kubernetes/versions.ts";

/**
 * A node with the version of its kubelet, and on a control plane the version of its API server. Versions are "" if
 * unknown.
 */
interface SkewedNode {
  name: string;
  kubelet: string;
  apiServer?: string;
}

/** A broken rule (kubernetes.io, "Version Skew Policy"). */
export interface BrokenSkew {
  /** A warning if only patch versions differ, which rarely matters. */
  severity: "Error" | "Warning";
  message: string;
}

/** Maximum minor versions by which a kubelet may be older than its API server, and by which API servers may differ. */
const most = { kubelet: 3, servers: 1 };
/** Maximum nodes that one message names. */
const named = 3;

const rules = {
  tooNew: "a kubelet must not be newer than its API server",
  tooOld: `a kubelet may be at most ${most.kubelet} minor versions older than its API server`,
  apart: "API servers may be at most one minor version apart",
};

/**
 * Returns the broken rules, as sentences. The kubelet of a control plane is compared with the API server of its node,
 * and any other kubelet with all API servers, because a load balancer may connect it to any of them.
 */
export function brokenSkew(nodes: readonly SkewedNode[]): BrokenSkew[] {
  const servers = nodes.flatMap(({ apiServer = "" }) => apiServer === "" ? [] : [apiServer]).sort(compareVersions);
  const [oldest = "", newest = ""] = [servers[0], servers.at(-1)];
  const against = nodes.map(({ name, kubelet, apiServer }) => {
    const own = plainStart(kubelet);
    return apiServer === undefined
      ? { name, kubelet: own, oldest, newest }
      : { name, kubelet: own, oldest: apiServer, newest: apiServer };
  }).filter(({ kubelet, oldest }) => kubelet !== "" && oldest !== "");
  const tooNew = against.filter(({ kubelet, oldest }) => compareVersions(kubelet, oldest) > 0)
    .sort((one, other) => compareVersions(other.kubelet, one.kubelet));
  const newerMinor = tooNew.filter(({ kubelet, oldest }) => minorsAbove(oldest, kubelet) > 0);
  const tooOld = against.filter(({ kubelet, newest }) => minorsAbove(kubelet, newest) > most.kubelet)
    .sort((one, other) => compareVersions(one.kubelet, other.kubelet));
  const isApart = minorsAbove(oldest, newest) > most.servers;
  return [
    ...(isApart
      ? [{ severity: "Error" as const, message: `API servers run ${oldest} to ${newest}: ${rules.apart}` }]
      : []),
    ...broken(newerMinor.length > 0 ? newerMinor : tooNew, "newer than its API server", {
      rule: rules.tooNew,
      severity: newerMinor.length > 0 ? "Error" : "Warning",
    }),
    ...broken(tooOld, "too old", { rule: rules.tooOld, severity: "Error" }),
  ];
}

function broken(
  nodes: readonly { name: string; kubelet: string }[],
  what: string,
  { rule, severity }: { rule: string; severity: BrokenSkew["severity"] },
): BrokenSkew[] {
  const [first] = nodes;
  if (!first) return [];
  const names = nodes.slice(0, named).map(({ name, kubelet }) => `"${name}" (${kubelet})`).join(", ");
  const more = nodes.length > named ? ` and ${nodes.length - named} more` : "";
  return [{ severity, message: `the kubelet of ${names}${more} is ${what}: ${rule}` }];
}

/** Returns how many minor versions the second version is above the first one; 0 if one of them is unknown. */
export function minorsAbove(older: string, newer: string): number {
  const [from, to] = [minorOf(older), minorOf(newer)];
  return from === undefined || to === undefined ? 0 : to - from;
}

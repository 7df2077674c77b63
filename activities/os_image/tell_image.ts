/** Writes the findings about an image into the status of its OSImage. */
import { isDeepStrictEqual } from "node:util";
import type { ClusterObject, ImageFinding } from "../../workflows/contracts/mod.ts";
import { unavailable } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { patchClusterStatus, readClusterObject } from "../kube/resources.ts";
import {
  acceptedCondition,
  type FormerImage,
  type ImageCondition,
  type OSImage,
  osImages,
  type OSImageStatus,
} from "../kube/os_images.ts";
import { attempting, ifFound, statusOf } from "../kube/status.ts";

/** Maximum number of digests in the history, including the current one. */
const remembered = 10;

/**
 * Writes the status of an OSImage, if it differs; `now` is epoch ms. Returns "Gone" if the evaluated object was
 * deleted, even if a newer one has its name.
 */
export function ensureImageTold(
  kube: Kube,
  { object: { name }, finding }: { object: ClusterObject; finding: ImageFinding },
  now: number,
): Promise<"Told" | "Gone"> {
  return attempting(`write the status of OSImage "${name}"`, async () => {
    const found = await ifFound(readClusterObject(kube, osImages, name));
    if (found === undefined || found.metadata.deletionTimestamp !== undefined) return "Gone";
    const evaluated = finding.state === "Unknown" ? undefined : finding.image?.uid;
    if (evaluated !== undefined && evaluated !== found.metadata.uid) return "Gone";
    const status = statusAfter(found, finding, new Date(now).toISOString());
    const isSame = Object.entries(status).every(([field, value]) =>
      isDeepStrictEqual(value ?? undefined, found.status?.[field])
    );
    if (isSame) return "Told";
    const { resourceVersion } = found.metadata;
    try {
      await patchClusterStatus(kube, osImages, { name, status, resourceVersion });
      return "Told";
    } catch (error) {
      if (statusOf(error) === 404) return "Gone";
      if (statusOf(error) !== 409) throw error;
      throw unavailable(`Failed to write the status of OSImage "${name}": conflict, the object was modified`);
    }
  });
}

/**
 * Returns a patch of the status, in which null removes a field. An accepted image stays accepted while findings are
 * inconclusive.
 */
function statusAfter(object: OSImage, finding: ImageFinding, at: string): Record<string, unknown> {
  if (finding.state === "Unknown") return afterDoubt(object, finding, at);
  const isAccepted = finding.state === "Accepted";
  const { image } = finding;
  const evidence = isAccepted ? finding.evidence : undefined;
  const generation = isAccepted ? finding.image.generation : finding.generation;
  const said = isAccepted
    ? { status: "True", reason: "Accepted", message: `Signed by ${finding.evidence.signedBy}` }
    : { status: "False", reason: finding.reason, message: finding.message };
  const accepted = { type: "Accepted", ...said, observedGeneration: generation };
  const reachable = {
    type: "Reachable",
    status: "True",
    reason: "Answered",
    message: "",
    observedGeneration: generation,
  };
  // For an invalid spec no request is sent to the registry, so condition Reachable stays unchanged.
  const conditions = conditionsAfter(object, said.reason === "SpecInvalid" ? [accepted] : [accepted, reachable], at);
  return {
    observedGeneration: generation,
    repository: image?.repository ?? null,
    digest: image?.digest ?? null,
    indexDigest: image?.indexDigest ?? null,
    created: image?.created ?? null,
    signedBy: evidence?.signedBy ?? null,
    signedDigest: evidence?.signed ?? null,
    provenance: evidence?.provenance ?? null,
    scan: evidence?.scan ?? null,
    ...(isAccepted ? { history: historyAfter(object.status, finding, at) } : {}),
    conditions,
  };
}

function afterDoubt(
  object: OSImage,
  { reason, message }: Extract<ImageFinding, { state: "Unknown" }>,
  at: string,
): Record<string, unknown> {
  const { generation = 0 } = object.metadata;
  const doubt = { reason, message, observedGeneration: generation };
  const unreachable = { type: "Reachable", status: "False", ...doubt };
  // An accepted image stays accepted, even under a newer spec: nodes run it, and its observed generation shows that the
  // new spec was not verified.
  if (acceptedCondition(object)?.status === "True") return { conditions: conditionsAfter(object, [unreachable], at) };
  const unknown = { type: "Accepted", status: "Unknown", ...doubt };
  return { observedGeneration: generation, conditions: conditionsAfter(object, [unknown, unreachable], at) };
}

type Said = Omit<ImageCondition, "lastTransitionTime">;

/**
 * Returns all conditions, with those in `said` replaced; a condition whose status does not change keeps its transition
 * time.
 */
function conditionsAfter({ status }: OSImage, said: readonly Said[], at: string): ImageCondition[] {
  const before = status?.conditions ?? [];
  const written = said.map((each): ImageCondition => {
    const old = before.find(({ type }) => type === each.type);
    return { ...each, lastTransitionTime: old?.status === each.status ? old.lastTransitionTime : at };
  });
  return [...written, ...before.filter(({ type }) => !said.some((each) => each.type === type))]
    .sort((a, b) => a.type.localeCompare(b.type));
}

function historyAfter(
  status: OSImageStatus | undefined,
  { image, evidence }: Extract<ImageFinding, { state: "Accepted" }>,
  at: string,
): FormerImage[] {
  const former = status?.history ?? [];
  const { digest, indexDigest } = image;
  const { signedBy } = evidence;
  const [latest] = former;
  const acceptedAt = latest?.digest === digest ? latest.acceptedAt : at;
  const entry = { digest, ...(indexDigest === undefined ? {} : { indexDigest }), signedBy, acceptedAt };
  return [entry, ...former.filter((each) => each.digest !== digest)].slice(0, remembered);
}

/** Reads whether a pool may use an image, from the status of its OSImage and the observed generation. */
import type { AcceptedImage, ClusterObject } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { readClusterObject } from "../kube/resources.ts";
import { acceptedCondition, isAccepted, type OSImage, osImages } from "../kube/os_images.ts";
import { attempting, ifFound } from "../kube/status.ts";

/** Reads the status; sends no request to a registry. */
export function readAcceptedImage(kube: Kube, { object: { name } }: { object: ClusterObject }): Promise<AcceptedImage> {
  return attempting(`read OSImage "${name}"`, async () => {
    return acceptedImageOf(name, await ifFound(readClusterObject(kube, osImages, name)));
  });
}

/** Returns the state of an OSImage; an object that is being deleted counts as missing. */
export function acceptedImageOf(name: string, found: OSImage | undefined): AcceptedImage {
  if (found === undefined || found.metadata.deletionTimestamp !== undefined) {
    return { state: "Missing", reason: "ImageMissing", message: `OSImage "${name}" does not exist` };
  }
  const { repository, digest } = found.status ?? {};
  const isWhole = repository !== undefined && digest !== undefined && /^sha256:[0-9a-f]{64}$/.test(digest);
  if (isAccepted(found) && isWhole) return { state: "Accepted", image: repository, digest };
  const { status, reason = "", message = "", observedGeneration } = acceptedCondition(found) ?? {};
  const { generation } = found.metadata;
  if (status === "False" && observedGeneration === generation) {
    return { state: "Refused", reason, message: `OSImage "${name}" is refused: ${message}` };
  }
  const isJudged = status === "Unknown" && observedGeneration === generation;
  const state = isJudged ? message : `its generation ${generation ?? 0} is not verified yet`;
  return {
    state: "Waiting",
    reason: isJudged ? reason : "NotEvaluated",
    message: `OSImage "${name}" is not accepted yet: ${state}`,
  };
}

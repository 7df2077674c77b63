/**
 * Admits an OSImage: resolves its reference to a digest, and verifies the signatures and statements for that digest. A
 * run ends once its result is in the status of the OSImage. A run starts when the spec changes, on request, and for
 * images that are not yet accepted.
 */
import {
  ActivityFailure,
  ApplicationFailure,
  continueAsNew,
  proxyActivities,
  setCurrentDetails,
  setHandler,
  workflowInfo,
} from "@temporalio/workflow";
import { imageChanged } from "./commands/messages.ts";
import type {
  ClusterObject,
  FailureType,
  ImageActivities,
  ImageFinding,
  ImageOutcome,
  ResolvedImage,
} from "./contracts/mod.ts";

// The API server can be unavailable for an hour, so the retries are many; an activity that finds the registry
// unreachable gives up by itself after a few attempts.
const { resolveImage, verifyImage, ensureImageTold } = proxyActivities<ImageActivities>({
  startToCloseTimeout: "2m",
  scheduleToCloseTimeout: "2h",
  heartbeatTimeout: "10s",
  retry: { initialInterval: "1s", backoffCoefficient: 2, maximumInterval: "30s", maximumAttempts: 300 },
});

/** Evaluates the current spec of one OSImage and reports the result; the workflow ID is `os-image/<name>`. */
export async function admitImage(object: ClusterObject): Promise<ImageOutcome> {
  let isChanged = false;
  setHandler(imageChanged, () => void (isChanged = true));
  for (;;) {
    isChanged = false;
    const finding = await evaluate(object);
    // The spec changed during the evaluation.
    if (finding === "Stale") isChanged = true;
    const outcome = typeof finding === "string" ? { outcome: "Gone" as const } : await report(object, finding);
    // No await may come between this check and the return: a signal that arrives later then starts a new run, so none
    // is lost.
    if (!isChanged) return outcome;
    // Frequent changes can keep the run from ending, so it continues as new before its history gets too long.
    if (workflowInfo().continueAsNewSuggested) return await continueAsNew<typeof admitImage>(object);
  }
}

async function evaluate(object: ClusterObject): Promise<ImageFinding | "Gone" | "Stale"> {
  try {
    const resolved = await resolveImage.executeWithOptions({ summary: `Resolve OSImage "${object.name}"` }, [{
      object,
    }]);
    if (resolved.outcome === "Gone") return "Gone";
    if (resolved.outcome !== "Resolved") return findingOf(resolved);
    const { image } = resolved;
    const summary = `Verify image ${image.digest.slice(0, "sha256:".length + 12)}`;
    const verdict = await verifyImage.executeWithOptions({ summary }, [{ object, image }]);
    if (verdict.outcome === "Verified") return { state: "Accepted", image, evidence: verdict.evidence };
    return findingOf(verdict, image);
  } catch (error) {
    if (isOfType(error, "GenerationStale")) return "Stale";
    if (!isOfType(error, "RegistryUnreachable")) throw error;
    return { state: "Unknown", reason: "RegistryUnreachable", message: messageOf(error) };
  }
}

type Refusal = Extract<Awaited<ReturnType<ImageActivities["verifyImage"]>>, { reason: string }>;

function findingOf(refusal: Refusal, image?: ResolvedImage): ImageFinding {
  const { message, generation } = refusal;
  if (refusal.outcome === "Unknown") return { state: "Unknown", reason: refusal.reason, message };
  return { state: "Refused", reason: refusal.reason, message, generation, ...(image ? { image } : {}) };
}

async function report(object: ClusterObject, finding: ImageFinding): Promise<ImageOutcome> {
  const summary = finding.state === "Accepted" ? "Report the image as accepted" : `Report ${finding.reason}`;
  const reported = await ensureImageTold.executeWithOptions({ summary }, [{ object, finding }]);
  if (reported === "Gone") return { outcome: "Gone" };
  if (finding.state === "Accepted") {
    const { image: { repository, digest }, evidence } = finding;
    setCurrentDetails(`Image \`${repository}@${digest}\` is accepted, signed by \`${evidence.signedBy}\``);
    return { outcome: "Accepted", digest };
  }
  const { state: outcome, reason, message } = finding;
  setCurrentDetails(`${reason}: ${message}`);
  return { outcome, reason, message };
}

function causeOf(error: unknown): ApplicationFailure | undefined {
  return error instanceof ActivityFailure && error.cause instanceof ApplicationFailure ? error.cause : undefined;
}

function isOfType(error: unknown, type: FailureType): boolean {
  return causeOf(error)?.type === type;
}

function messageOf(error: unknown): string {
  return causeOf(error)?.message ?? "";
}

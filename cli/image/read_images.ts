/** Reads OSImages, each as a row of a table. */
import {
  acceptedCondition,
  type FormerImage,
  type ImageCondition,
  OSImage,
  osImages,
} from "../../activities/kube/os_images.ts";
import { listAll, type NamedCluster } from "../connect/cluster.ts";
import { Refusal } from "../failure.ts";
import { printable } from "../view/printable.ts";
import { nearText } from "../rollout/near_names.ts";

export interface ImageRow {
  name: string;
  reference: string;
  platform: string;
  /** The repository that the reference resolved to at its evaluation. */
  repository: string;
  digest: string;
  indexDigest: string;
  created: string;
  signedBy: string;
  /**
   * The status of condition Accepted: "True", "False" or "Unknown"; "Unknown" before the evaluation of the current
   * spec.
   */
  accepted: string;
  reason: string;
  message: string;
  conditions: ImageCondition[];
  history: FormerImage[];
  provenance: Record<string, unknown> | undefined;
  scan: Record<string, unknown> | undefined;
  /** RFC 3339. */
  createdAt: string;
}

/** Returns all OSImages that can be parsed, sorted by name. */
export async function readImages({ kube }: NamedCluster): Promise<ImageRow[]> {
  const objects = await listAll(kube, osImages);
  return objects.flatMap((object) => rowOf(object) ?? []).sort((a, b) => a.name.localeCompare(b.name));
}

/** Returns an OSImage; throws Refusal with similar names if it does not exist. */
export async function needImage(cluster: NamedCluster, name: string): Promise<ImageRow> {
  const all = await readImages(cluster);
  const found = all.find((each) => each.name === name);
  if (found) return found;
  throw new Refusal(`Failed to find OSImage "${name}": no such name${nearText(name, all.map((each) => each.name))}`);
}

function rowOf(object: unknown): ImageRow | undefined {
  const { data } = OSImage.safeParse(object);
  if (data === undefined) return undefined;
  const { metadata: { name, generation, creationTimestamp }, spec, status } = data;
  const { reference, platform } = (spec ?? {}) as { reference?: unknown; platform?: unknown };
  const condition = acceptedCondition(data);
  const isJudged = condition !== undefined && condition.observedGeneration === generation;
  const { digest = "", repository = "", indexDigest = "", created = "", signedBy = "" } = status ?? {};
  const told = { digest, repository, indexDigest, created, signedBy };
  return {
    ...{
      name,
      createdAt: creationTimestamp,
      reference: textOf(reference),
      platform: textOf(platform) || "linux/amd64",
    },
    ...Object.fromEntries(Object.entries(told).map(([field, value]) => [field, textOf(value)])) as typeof told,
    accepted: isJudged ? condition.status : "Unknown",
    reason: isJudged ? textOf(condition.reason) : "NotEvaluated",
    message: isJudged ? textOf(condition.message) : `generation ${generation ?? 0} was not evaluated yet`,
    conditions: status?.conditions ?? [],
    history: status?.history ?? [],
    provenance: status?.provenance,
    scan: status?.scan,
  };
}

/**
 * Returns a field as printable text; "" if the field is not a text. Some fields come from a registry, which is not
 * trusted.
 */
function textOf(value: unknown): string {
  return typeof value === "string" ? printable(value, 1_000) : "";
}

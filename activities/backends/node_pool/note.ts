/**
 * The note about a node's operating system, as an annotation of its Node: the booted image with its boot ID, the staged
 * image, and images that failed. The note stays when Ostler is uninstalled, and is deleted with the Node. A node could
 * forge its note, but this does no more harm than a false report of its OS tool, and only to that node.
 */
import { z } from "zod";
import { asMergePatch } from "../../kube/client.ts";
import type { Kube } from "../../kube/client.ts";
import { ifFound } from "../../kube/status.ts";

export const noteAnnotation = "ostler.dev/node-os";
const longest = 4096;
/** Maximum number of failures that a note keeps. */
const failuresKept = 5;

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

const Note = z.object({
  /** Boot ID of the node when the other fields were observed. */
  bootId: z.string().max(64).default(""),
  booted: digest.or(z.literal("")).default(""),
  /**
   * Digest of the image that the node can be ordered to boot: the fetched image, or the previous image for a rollback;
   * "" without one.
   */
  staged: digest.or(z.literal("")).default(""),
  /** Fallback: the staged image is the previous one, which a rollback boots. */
  by: z.enum(["Image", "Fallback"]).default("Image"),
  /** Boot ID of the node when it was ordered to boot; "" without an order. */
  ordered: z.string().max(64).default(""),
  failed: z.array(
    z.object({
      ...{ digest, reason: z.string().max(64), at: z.number().min(0).max(8.64e15) },
      /** Whether the node could not fetch the image, so that the controller of its machine may replace the machine. */
      isReplaceable: z.literal(true).optional(),
    }),
  ).max(failuresKept).default([]),
});
export type Note = z.infer<typeof Note>;

const none: Note = { bootId: "", booted: "", staged: "", by: "Image", ordered: "", failed: [] };

/** Returns the note of a node; an empty one if the annotation is missing or unreadable. */
export function noteOf(annotations: Record<string, string> = {}): Note {
  const text = annotations[noteAnnotation] ?? "";
  if (text === "" || text.length > longest) return none;
  try {
    return Note.safeParse(JSON.parse(text)).data ?? none;
  } catch {
    return none; // not JSON
  }
}

/**
 * Writes the note that `changed` returns. Writes nothing if this changes nothing, or if the node was deleted, even if a
 * newer node has its name.
 */
export async function patchNote(
  kube: Kube,
  { name, uid }: { name: string; uid: string },
  changed: (note: Note) => Note,
): Promise<void> {
  const node = await ifFound(kube.core.readNode({ name }));
  if (!node || node.metadata?.uid !== uid) return;
  const before = node.metadata.annotations?.[noteAnnotation];
  const note = JSON.stringify(changed(noteOf(node.metadata.annotations)));
  if (note === before) return;
  const { resourceVersion } = node.metadata;
  const metadata = { annotations: { [noteAnnotation]: note }, ...(resourceVersion ? { resourceVersion } : {}) };
  await ifFound(kube.core.patchNode({ name, body: { metadata } }, asMergePatch));
}

/**
 * Returns the note with this failure, which replaces an earlier one of the same image; drops the oldest failure if
 * there are too many.
 */
export function withFailure(note: Note, failure: Note["failed"][number]): Note {
  const others = note.failed.filter((each) => each.digest !== failure.digest);
  return { ...note, failed: [...others, failure].slice(-failuresKept) };
}

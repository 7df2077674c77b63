/**
 * What is known of a node's operating system, noted on its Node: what it booted and under which boot id, what it has staged,
 * and which images failed on it. It outlives our installation, and goes with the node. A node can write its own annotations:
 * whatever it says there it could say by its tools as well, and concerns it alone.
 */
import { z } from "zod";
import { asMergePatch } from "../../kube/client.ts";
import type { Kube } from "../../kube/client.ts";
import { ifFound } from "../../kube/status.ts";

export const noteAnnotation = "ostler.dev/node-os";
const longest = 4096;
/** Failures that are remembered. */
const failuresKept = 5;

const digest = z.string().regex(/^sha256:[0-9a-f]{64}$/);

const Note = z.object({
  /** Under which what follows was seen. */
  bootId: z.string().max(64).default(""),
  booted: digest.or(z.literal("")).default(""),
  /** Fetched, or what going back would bring. */
  staged: digest.or(z.literal("")).default(""),
  by: z.enum(["Image", "Fallback"]).default("Image"),
  /** The boot id under which it was told to boot; "" for never. */
  ordered: z.string().max(64).default(""),
  failed: z.array(
    z.object({
      ...{ digest, reason: z.string().max(64), at: z.number() },
      /** It could not be fetched, and whoever made the node may make another in its stead. */
      isReplaceable: z.literal(true).optional(),
    }),
  ).max(failuresKept).default([]),
});
export type Note = z.infer<typeof Note>;

const none: Note = { bootId: "", booted: "", staged: "", by: "Image", ordered: "", failed: [] };

/** The note of a node; what cannot be read is nothing. */
export function noteOf(annotations: Record<string, string> = {}): Note {
  const text = annotations[noteAnnotation] ?? "";
  if (text === "" || text.length > longest) return none;
  try {
    return Note.safeParse(JSON.parse(text)).data ?? none;
  } catch {
    return none; // no JSON is no note either
  }
}

/** Changes a node's note; nothing is written where it says so already, nor on another node of that name. */
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

/** With one more failure, the oldest left out. */
export function withFailure(note: Note, failure: Note["failed"][number]): Note {
  const others = note.failed.filter((each) => each.digest !== failure.digest);
  return { ...note, failed: [...others, failure].slice(-failuresKept) };
}

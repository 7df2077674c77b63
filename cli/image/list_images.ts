/** `ostler image list`: prints one line per image. */
import type { World } from "../connect/world.ts";
import { styled, type Terminal } from "../terminal.ts";
import { age } from "../view/durations.ts";
import { asData } from "../view/output.ts";
import { plainTable } from "../view/plain_table.ts";
import type { ImageFlags } from "./image_flags.ts";
import { type ImageRow, readImages } from "./read_images.ts";

const shortDigest = "sha256:".length + 12;
const colours: Record<string, "green" | "red" | "yellow"> = { True: "green", False: "red", Unknown: "yellow" };

/** Prints all OSImages of the cluster. */
export async function listImages(terminal: Terminal, world: World, { output }: ImageFlags): Promise<number> {
  const items = await readImages(await world.cluster());
  const data = asData(output, { items });
  if (data !== undefined) terminal.out(data);
  else if (items.length === 0) terminal.err("Nothing to show: the cluster has no OSImage\n");
  else {
    const isWide = output === "wide";
    const head = [
      "NAME",
      "REFERENCE",
      "DIGEST",
      "ACCEPTED",
      "REASON",
      "AGE",
      ...(isWide ? ["SIGNED BY", "MESSAGE"] : []),
    ];
    terminal.out(plainTable(items.map((row) => lineOf(terminal, row, { now: world.now(), isWide })), head));
  }
  return 0;
}

function lineOf(terminal: Terminal, row: ImageRow, { now, isWide }: { now: number; isWide: boolean }): string[] {
  return [
    row.name,
    row.reference,
    isWide ? row.digest : row.digest.slice(0, shortDigest),
    acceptedText(terminal, row),
    row.reason,
    age(row.createdAt, now),
    ...(isWide ? [row.signedBy, row.message] : []),
  ];
}

/** Returns the status of condition Accepted in the colour of its meaning. */
export function acceptedText(terminal: Terminal, { accepted }: Pick<ImageRow, "accepted">): string {
  return styled(terminal, colours[accepted] ?? "yellow", accepted);
}

/** `ostler image show NAME`: shows all facts about one image. */
import type { World } from "../connect/world.ts";
import type { Terminal } from "../terminal.ts";
import { age } from "../view/durations.ts";
import { asData } from "../view/output.ts";
import { plainTable } from "../view/plain_table.ts";
import type { OneImageFlags } from "./image_flags.ts";
import { acceptedText } from "./list_images.ts";
import { type ImageRow, needImage } from "./read_images.ts";

/** Prints the image, and a table of the digests that were accepted earlier. */
export async function showImage(terminal: Terminal, world: World, { image, output }: OneImageFlags): Promise<number> {
  const row = await needImage(await world.cluster(), image);
  const data = asData(output, row);
  if (data !== undefined) terminal.out(data);
  else terminal.out(`${plainTable(factsOf(terminal, row))}${historyText(row, world.now())}`);
  return 0;
}

function factsOf(terminal: Terminal, row: ImageRow): string[][] {
  const unreachable = row.conditions.find(({ type, status }) => type === "Reachable" && status !== "True");
  const facts = [
    ["image", row.name],
    ["reference", row.reference],
    ["platform", row.platform],
    ["accepted", `${acceptedText(terminal, row)}  ${row.reason}`],
    ["", row.message],
    ["registry", unreachable ? `${unreachable.reason}: ${unreachable.message}` : ""],
    ["digest", row.digest],
    ["index", row.indexDigest],
    ["created", row.created],
    ["signed by", row.signedBy],
    ["provenance", statementText(row.provenance)],
    ["scan", statementText(row.scan)],
  ];
  return facts.filter(([, value]) => value !== "");
}

function statementText(statement: Record<string, unknown> | undefined): string {
  const { builder, finishedOn, predicateType } = statement ?? {};
  return [builder, finishedOn, predicateType].filter((part) => typeof part === "string").join("  ");
}

function historyText({ history }: ImageRow, now: number): string {
  if (history.length === 0) return "";
  const lines = history.map(({ digest, signedBy, acceptedAt }) => [`${age(acceptedAt, now)} ago`, digest, signedBy]);
  return `\n${plainTable(lines, ["ACCEPTED", "DIGEST", "SIGNED BY"])}`;
}

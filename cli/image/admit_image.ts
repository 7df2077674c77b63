/** `ostler image admit NAME`: requests a new evaluation of an image, and waits for its result. */
import type { World } from "../connect/world.ts";
import { Refusal } from "../failure.ts";
import { printable } from "../view/printable.ts";
import type { Terminal } from "../terminal.ts";
import { parseDuration } from "../view/durations.ts";
import { asData } from "../view/output.ts";
import type { OneImageFlags } from "./image_flags.ts";
import { needImage } from "./read_images.ts";

/** Runs the command; returns exit code 0 if the image is accepted, else 1. */
export async function admitImage(terminal: Terminal, world: World, flags: OneImageFlags): Promise<number> {
  const within = parseDuration(flags.timeout);
  const { name } = await needImage(await world.cluster(), flags.image);
  const engine = await world.engine();
  const outcome = await engine.admitImage({ name, within });
  if (outcome.outcome === "Gone") throw new Refusal(`Failed to admit OSImage "${name}": the OSImage was deleted`);
  const data = asData(flags.output, { name, ...outcome });
  if (data !== undefined) terminal.out(data);
  else if (outcome.outcome === "Accepted") terminal.out(`OSImage "${name}" is accepted: ${outcome.digest}\n`);
  else {
    const state = outcome.outcome === "Refused" ? "is refused" : "cannot be evaluated now";
    terminal.err(`OSImage "${name}" ${state} (${outcome.reason}): ${printable(outcome.message, 1_000)}\n`);
  }
  return outcome.outcome === "Accepted" ? 0 : 1;
}

/** Grounds for a story of nodes that are updated where they stand. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ImageGround } from "../cloud/image_nodes/image_ground.ts";
import { type HandsImage, handsImage } from "../machines/ostree/hands_image.ts";
import { containerGround, type Ground, type GroundOptions, machinesFolder, simulatedGround } from "./ground.ts";

/** The image of that letter, as "repository@sha256:…". */
export function imageOf(letter: string): string {
  return `registry.example/os/edge@${digestOf(letter)}`;
}

/** The digest that it has. */
export function digestOf(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

/** Nodes that only look like nodes from the API server, beside the simulated machines. */
export function imageNodes(): Ground {
  const images = new ImageGround({ nodes: 12, labels: { pool: "edge" }, booted: digestOf("a") });
  return { ...simulatedGround, images, stop: () => images[Symbol.asyncDispose]() };
}

/** Machines that boot what ostree deploys on them, as containers, and hands for them; throws where no engine runs them. */
export async function containerImages(options: GroundOptions): Promise<Ground> {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "ostler-hands-"));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const { layout, reference } = await handsOf(options, folder);
  const ground = await containerGround({ ...options, layouts: [layout] });
  parts.defer(() => ground.stop());
  const { host, releases: [{ image }] } = ground;
  options.onProgress("Preparing commits of ostree, and what boots them");
  await host.addOstree(image);
  const settings = { OSTLER_HANDS_IMAGE: `${new URL(host.mirror.url).host}/${reference}` };
  const kept = parts.move();
  return { ...ground, settings, stop: () => kept.disposeAsync() };
}

async function handsOf({ options, onProgress, signal }: GroundOptions, folder: string): Promise<HandsImage> {
  const workFolder = machinesFolder();
  onProgress("Making the image that orders to nodes are carried out by");
  const engine = { install: options.installDocker, directory: join(workFolder, "docker"), onProgress, signal };
  return await handsImage({ folder, workFolder, engine });
}

/** Grounds, which are environments of machines, for the story of nodes that are updated in place. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ImageGround } from "../cloud/image_nodes/image_ground.ts";
import { type HandsImage, handsImage } from "../machines/ostree/hands_image.ts";
import { containerGround, type Ground, type GroundOptions, machinesFolder, simulatedGround } from "./ground.ts";

/** Returns an invented image, as "repository@sha256:…", whose digest repeats one hexadecimal letter. */
export function imageOf(letter: string): string {
  return `registry.example/os/edge@${digestOf(letter)}`;
}

/** Returns the digest of `imageOf(letter)`, so that checks can name each image by one letter. */
export function digestOf(letter: string): string {
  return `sha256:${letter.repeat(64)}`;
}

/** Returns an environment (ground) with simulated nodes in addition to the simulated machines. */
export function imageNodes(): Ground {
  const images = new ImageGround({ nodes: 12, labels: { pool: "edge" }, booted: digestOf("a") });
  return { ...simulatedGround, images, stop: () => images[Symbol.asyncDispose]() };
}

/**
 * Returns an environment (ground) with containers that boot ostree deployments, and with the image of hands, the pods
 * that execute updates on nodes; throws if no Docker engine can run them.
 */
export async function containerImages(options: GroundOptions): Promise<Ground> {
  await using parts = new AsyncDisposableStack();
  const folder = await mkdtemp(join(tmpdir(), "ostler-hands-"));
  parts.defer(() => rm(folder, { recursive: true, force: true }));
  const { layout, reference } = await handsOf(options, folder);
  const ground = await containerGround({ ...options, layouts: [layout] });
  parts.defer(() => ground.stop());
  const { host, releases: [{ image }] } = ground;
  options.onProgress("Preparing the ostree commits and the image that boots them");
  await host.addOstree(image);
  const settings = { OSTLER_HANDS_IMAGE: `${new URL(host.mirror.url).host}/${reference}` };
  const kept = parts.move();
  return { ...ground, settings, stop: () => kept.disposeAsync() };
}

async function handsOf({ options, onProgress, signal }: GroundOptions, folder: string): Promise<HandsImage> {
  const workFolder = machinesFolder();
  onProgress("Building the image of the pods that execute updates on nodes");
  const engine = { install: options.installDocker, directory: join(workFolder, "docker"), onProgress, signal };
  return await handsImage({ folder, workFolder, engine });
}

/** Has each OSImage judged by a run of its own: when its spec changes, and from time to time as long as it is not accepted. */
import type { Client } from "@temporalio/client";
import { Informer } from "../activities/kube/informer.ts";
import type { InformerDeps } from "../activities/kube/informer.ts";
import { isAccepted, OSImage, osImages } from "../activities/kube/os_images.ts";
import type { Resource } from "../activities/kube/resources.ts";
import { imageIdOf } from "../workflows/commands/start_options.ts";
import type { Config } from "./config.ts";
import { shownOf } from "./shown_of.ts";
import { type ObjectNews, tellObjects } from "./tell_objects.ts";

interface ImageFacts {
  /** Which object it is, and which spec it has. */
  identity: string;
  isAccepted: boolean;
}

const images: Resource<ImageFacts> = {
  ...osImages,
  schema: OSImage.transform((image) => {
    const { uid, generation = 0 } = image.metadata;
    return { identity: `${uid} ${generation}`, isAccepted: isAccepted(image) };
  }),
};

export type ImageDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "kube" | "log">>;

/**
 * Tells of each that is not accepted, until `signal` aborts: it may be signed by now, or its registry answer again. One that
 * is accepted stays as it is until its spec changes or somebody asks, so that a tag which moves changes no node by itself.
 */
export async function tellImages({ kube, log, ...news }: ImageDeps, signal: AbortSignal): Promise<void> {
  const watch = new Informer(images, { kube, log, signal });
  await watch.start();
  const seen = (): [string, string][] =>
    watch.keys().flatMap((name) => {
      const image = watch.get(name);
      return image === undefined || image.isAccepted ? [] : [[name, image.identity]];
    });
  await tellObjects({ ...news, what: "OS image", seen, log }, signal);
}

/** Tells the run that admits it to look again, and starts it where there is none. */
export async function admitImage(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("admitImage", {
    workflowId: imageIdOf(object),
    // Where nobody serves its queue any more, as the cluster was given another name.
    workflowExecutionTimeout: "1 day",
    taskQueue,
    args: [object],
    signal: "imageChanged",
    signalArgs: [],
    staticSummary: `Admit OS image ${name}`,
    staticDetails: `Resolves the reference of OSImage \`${name}\`, and judges by its signatures whether it may run.`,
    ...shownOf(cluster),
  });
}

/** Starts one run per OSImage to evaluate it: when its spec changes, and periodically until the image is accepted. */
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
  /** UID and generation of the object. */
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

type ImageDeps = Pick<ObjectNews, "tell" | "every"> & Required<Pick<InformerDeps<never>, "kube" | "log">>;

/**
 * Periodically signals the run of each OSImage that is not accepted, until `signal` aborts: since the last evaluation,
 * the image may have been signed, or its registry may have become reachable. An accepted image is evaluated again only
 * when its spec changes or a user requests that, so that a moved tag changes no node by itself.
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

/** Signals the run that evaluates an image to read its registry again; starts a run if none is open. */
export async function admitImage(client: Client, { cluster, taskQueue }: Config, name: string): Promise<void> {
  const object = cluster === "" ? { name } : { cluster, name };
  await client.workflow.signalWithStart("admitImage", {
    workflowId: imageIdOf(object),
    // A timeout ends runs on the task queue of a renamed cluster, which no worker serves any more.
    workflowExecutionTimeout: "1 day",
    taskQueue,
    args: [object],
    signal: "imageChanged",
    signalArgs: [],
    staticSummary: `Admit OS image ${name}`,
    staticDetails: `Resolves the reference of OSImage \`${name}\`, and evaluates its signatures.`,
    ...shownOf(cluster),
  });
}

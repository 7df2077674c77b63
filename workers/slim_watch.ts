/** A watch that hands on only a part of each object, so that what an informer remembers stays small. */
import type { KubeConfig, KubernetesObject, Watch } from "@kubernetes/client-node";
import { HttpsWatch } from "../activities/kube/https_watch.ts";

/** Bookmarks and errors are no objects of the kind that is watched: they go through as they are. */
const withObject = new Set(["ADDED", "MODIFIED", "DELETED"]);

/** Streams what `slim` leaves of objects; `slim` has to leave name, namespace and resource version. */
export class SlimWatch extends HttpsWatch {
  constructor(config: KubeConfig, private readonly slim: (object: KubernetesObject) => KubernetesObject) {
    super(config);
  }

  override watch(...[path, query, handler, done]: Parameters<Watch["watch"]>): Promise<AbortController> {
    const slimmed: typeof handler = (phase, object, event) =>
      handler(phase, withObject.has(phase) ? this.slim(object) : object, event);
    return super.watch(path, query, slimmed, done);
  }
}

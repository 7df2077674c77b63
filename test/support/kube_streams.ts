/** Watches over a fake API server: any number of watches per kind, each from the resourceVersion that it requests. */
import type { Watch } from "@kubernetes/client-node";
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import type { FakeKube, Stored } from "./fake_kube.ts";

/**
 * Milliseconds from a change until watches report it: as with a real API server, the writer knows of the change first.
 */
const lagMs = 1;

interface Event {
  type: string;
  plural: string;
  object: Stored;
}

type Handler = Parameters<Watch["watch"]>[2];

export class KubeStreams {
  /** The client of one cluster, whose components share its watches. */
  readonly client: Cluster;
  readonly #events: Event[] = [];
  readonly #open = new Set<{ path: string; field: string; handler: Handler }>();

  constructor(kube: FakeKube) {
    const watch = { watch: (...request: Parameters<Watch["watch"]>) => this.#watch(request) } as unknown as Watch;
    this.client = openCluster({ ...kube.client, watch });
    kube.onChange = ({ type, plural, object }) => {
      const event = { type, plural, object: structuredClone(object) };
      this.#events.push(event);
      setTimeout(() => this.#open.forEach((stream) => this.#send(stream, event)), lagMs);
    };
  }

  #watch([path, query, handler, done]: Parameters<Watch["watch"]>): Promise<AbortController> {
    const { resourceVersion = "0", fieldSelector = "" } = query as Record<string, string>;
    const stream = { path, field: fieldSelector, handler };
    const missed = this.#events.filter(({ object }) => versionOf(object) > Number(resourceVersion));
    setTimeout(() => {
      for (const event of missed) this.#send(stream, event);
      this.#open.add(stream);
    }, lagMs);
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => {
      this.#open.delete(stream);
      done(null);
    });
    return Promise.resolve(controller);
  }

  #send({ path, field, handler }: { path: string; field: string; handler: Handler }, event: Event): void {
    const { type, plural, object } = event;
    const [, namespace] = /\/namespaces\/([^/]+)\//.exec(path) ?? [undefined, field.split("metadata.namespace=")[1]];
    if (!path.endsWith(`/${plural}`)) return;
    if (namespace !== undefined && object.metadata.namespace !== namespace) return;
    handler(type, structuredClone(object));
  }
}

function versionOf({ metadata }: Stored): number {
  return Number(metadata.resourceVersion);
}

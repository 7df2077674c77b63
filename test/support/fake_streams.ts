/** Watches over a fake API server: each change is streamed to the watches of its kind. */
import type { Watch } from "@kubernetes/client-node";
import { type Cluster, openCluster } from "../../activities/cluster.ts";
import type { FakeKube } from "./fake_kube.ts";

type Ends = { handler: Parameters<Watch["watch"]>[2]; done: Parameters<Watch["watch"]>[3] };

export class FakeStreams {
  /** Kinds whose watch was opened, in order. */
  readonly opened: string[] = [];
  /** Requests to the API server, without watches. */
  readonly requests: string[] = [];
  readonly client: Cluster;
  /** Whether no watch can be opened. */
  isDown = false;
  /** Number of watches that could not be opened. */
  refused = 0;
  readonly #streams = new Map<string, Ends>();

  constructor(kube: FakeKube) {
    const watch = { watch: (...request: Parameters<Watch["watch"]>) => this.#open(request) } as unknown as Watch;
    this.client = openCluster({ ...kube.client, watch });
    kube.onRequest = (request) => void this.requests.push(request);
    kube.onChange = ({ type, plural, object }) => this.#streams.get(plural)?.handler(type, structuredClone(object));
  }

  /**
   * Ends the watch of a kind: with an error as a dying API server does, or without one as after a time without events.
   */
  end(plural: string, error: unknown = null): void {
    const ends = this.#streams.get(plural);
    this.#streams.delete(plural);
    ends?.done(error);
  }

  #open([path, , handler, done]: Parameters<Watch["watch"]>): Promise<AbortController> {
    if (this.isDown) {
      this.refused += 1;
      done(new Error("connect ECONNREFUSED"));
      return Promise.resolve(new AbortController());
    }
    const plural = path.slice(path.lastIndexOf("/") + 1);
    this.opened.push(plural);
    this.#streams.set(plural, { handler, done });
    const controller = new AbortController();
    controller.signal.addEventListener("abort", () => done(null));
    return Promise.resolve(controller);
  }
}

/**
 * Load on a Service as a good ingress sends it: each request goes once, without a retry, to an endpoint that is ready.
 */
import type { ListWatch, V1EndpointSlice } from "@kubernetes/client-node";
import { follow } from "../../../deploy/local/cloud/follow.ts";
import type { Connection } from "../../../deploy/local/cloud/kube.ts";
import { ask, type Endpoint, nothingSeen, type VisitReport } from "./visit.ts";

interface Visited {
  connection: Connection;
  namespace: string;
  service: string;
  port: number;
  perSecond: number;
}

/** Visits a Service continuously, each request with its own connection. */
export class Visitors {
  readonly #visited: Visited;
  readonly #stopping = new AbortController();
  readonly #underway = new Set<Promise<void>>();
  #slices: ListWatch<V1EndpointSlice> | undefined;
  #timer: ReturnType<typeof setInterval> | undefined;
  #turn = 0;
  #lastAt: number | undefined;
  #seen = nothingSeen();

  private constructor(visited: Visited) {
    this.#visited = visited;
  }

  /** Resolves when the endpoints are watched and requests are sent. */
  static async start(visited: Visited): Promise<Visitors> {
    const visitors = new Visitors(visited);
    const { connection, namespace, perSecond } = visited;
    visitors.#slices = await follow<V1EndpointSlice>({
      connection,
      path: `/apis/discovery.k8s.io/v1/namespaces/${namespace}/endpointslices`,
      list: () => connection.discovery.listNamespacedEndpointSlice({ namespace }),
      changed: () => {},
      log: () => {},
      signal: visitors.#stopping.signal,
    });
    visitors.#timer = setInterval(() => visitors.#send(), 1000 / perSecond);
    return visitors;
  }

  /** The endpoints that are ready now. */
  ready(): Endpoint[] {
    const slices = this.#slices?.list() ?? [];
    return slices.filter(({ metadata }) => metadata?.labels?.["kubernetes.io/service-name"] === this.#visited.service)
      .flatMap(({ endpoints }) => endpoints ?? [])
      .filter(({ conditions }) => conditions?.ready === true)
      .map(({ targetRef, nodeName, addresses: [address = ""] }) => {
        return { pod: targetRef?.name ?? "", node: nodeName ?? "", address };
      });
  }

  /** Waits for the pending answers, returns the observations since the last report, and begins a new one. */
  async report(): Promise<VisitReport> {
    const seen = this.#seen;
    this.#seen = nothingSeen();
    await Promise.all(this.#underway);
    return { ...seen, pods: [...seen.pods] };
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    this.#stopping.abort();
    await Promise.all(this.#underway);
  }

  #send(): void {
    const ready = this.ready();
    const at = Date.now();
    const seen = this.#seen;
    seen.leastReady = Math.min(seen.leastReady, ready.length);
    seen.longestPauseMs = Math.max(seen.longestPauseMs, at - (this.#lastAt ?? at));
    this.#lastAt = at;
    const to = ready[this.#turn++ % Math.max(1, ready.length)];
    const visit = this.#visit(to)
      .then((pod) => {
        seen.answered += 1;
        seen.pods.add(pod);
      })
      .catch((error: unknown) => void seen.failed.push({ at, to, why: String(error) }))
      .finally(() => this.#underway.delete(visit));
    this.#underway.add(visit);
  }

  async #visit(to: Endpoint | undefined): Promise<string> {
    if (to === undefined) throw new Error("Failed to visit a pod: no endpoint is ready");
    const pod = await ask(`http://${to.address}:${this.#visited.port}/`);
    if (pod !== to.pod) throw new Error(`Failed to visit pod "${to.pod}": "${pod}" answers at its address`);
    return pod;
  }
}

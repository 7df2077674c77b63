/** Facts of all nodes, kept up to date by one watch: a look at a large pool must not cost a request per machine. */
import type { V1Node, V1NodeList } from "@kubernetes/client-node";
import { setTimeout as pause } from "node:timers/promises";
import type { Kube } from "../kube/client.ts";
import { factsOf, readNodes } from "./node_facts.ts";
import type { NodeFacts } from "./node_facts.ts";

/** As many GETs are cheaper than a watch, and never stale. */
const fewNodes = 20;
/** GETs of all pools together within `countedMs` from which on a watch is cheaper. */
const manyGets = 400;
const countedMs = 10_000;
/** Between the end of one stream and the first page of the next list, what was known still counts. */
const gapMs = 15_000;
const restMs = 1_000;
/** A watch that nobody asked for this long ends. */
const idleMs = 600_000;
const pageSize = 500;

/** The nodes of one API server as a process sees them. */
export class NodeWatch {
  readonly #kube: Kube;
  #facts = new Map<string, NodeFacts>();
  #isRunning = false;
  #freshUntil = 0;
  #askedAt = 0;
  #gets = { since: 0, number: 0 };

  constructor(kube: Kube) {
    this.#kube = kube;
  }

  /** Facts by name; from the watch where there is one and it is up to date, else from a GET each. */
  async find(names: string[], now = Date.now()): Promise<Map<string, NodeFacts>> {
    this.#askedAt = now;
    if (this.#isWorthIt(names.length, now)) this.#start();
    const known = now < this.#freshUntil ? this.#facts : new Map<string, NodeFacts>();
    // A node that a watch has not told of yet is not gone.
    const read = await readNodes(this.#kube, names.filter((name) => !known.has(name)));
    const kept = names.flatMap((name) => known.get(name) ?? []);
    return new Map([...kept, ...read].map((facts) => [facts.name, facts]));
  }

  /** Whether the next look is answered by the watch alone. */
  get isSynced(): boolean {
    return Date.now() < this.#freshUntil;
  }

  #isWorthIt(number: number, now: number): boolean {
    if (now - this.#gets.since > countedMs) this.#gets = { since: now, number: 0 };
    this.#gets.number += number;
    return number > fewNodes || this.#gets.number > manyGets;
  }

  #start(): void {
    if (this.#isRunning || !this.#kube.watch) return;
    this.#isRunning = true;
    void this.#run().finally(() => this.#isRunning = false);
  }

  // Whatever ends a stream, the answer is a new list: until then looks are answered by GETs.
  async #run(): Promise<void> {
    while (Date.now() - this.#askedAt < idleMs) {
      try {
        await this.#follow(await this.#list());
      } catch {
        // The API server is away, or may not be listed: GETs say so where it matters.
      }
      await pause(restMs, undefined, { ref: false });
    }
    this.#freshUntil = 0;
    this.#facts.clear();
  }

  async #list(): Promise<string> {
    const facts = new Map<string, NodeFacts>();
    let after: string | undefined;
    let version = "";
    do {
      const next = after ? { _continue: after } : {};
      const { items, metadata }: V1NodeList = await this.#kube.core.listNode({ limit: pageSize, ...next });
      for (const node of items) facts.set(node.metadata?.name ?? "", factsOf(node));
      version = metadata?.resourceVersion ?? version;
      after = metadata?._continue;
    } while (after);
    this.#facts = facts;
    return version;
  }

  #follow(resourceVersion: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    const ended = (error: unknown): void => {
      // A stream that went quiet was out of date before anybody noticed.
      const isStale = error instanceof Error && error.name === "TimeoutError";
      this.#freshUntil = isStale ? 0 : Date.now() + gapMs;
      resolve();
    };
    this.#freshUntil = Infinity;
    const path = "/api/v1/nodes";
    const watching = this.#kube.watch?.watch(path, { resourceVersion }, (type: string, node: V1Node) => {
      if (type === "ERROR") void watching?.then((stream) => stream.abort());
      else this.#tell(type, node);
    }, ended);
    watching?.catch(ended);
    return promise;
  }

  #tell(type: string, node: V1Node): void {
    const name = node.metadata?.name ?? "";
    if (type === "DELETED") this.#facts.delete(name);
    else if (type !== "BOOKMARK") this.#facts.set(name, factsOf(node));
  }
}

const watches = new WeakMap<object, NodeWatch>();

/** The watch of a process on the nodes of one API server; it begins when it is worth it. */
export function nodeWatchOf(kube: Kube): NodeWatch {
  const known = watches.get(kube.core) ?? new NodeWatch(kube);
  watches.set(kube.core, known);
  return known;
}

/** Facts of all nodes, kept current by one watch: a read of a large pool must not cost a request per machine. */
import type { V1Node } from "@kubernetes/client-node";
import { z } from "zod";
import type { Kube } from "../kube/client.ts";
import type { Resource } from "../kube/resources.ts";
import { SharedWatch } from "../kube/informer.ts";
import { factsOf, readNodes } from "./node_facts.ts";
import type { NodeFacts } from "./node_facts.ts";

/** Up to this many GETs are cheaper than a watch, and never stale. */
const fewNodes = 20;
/** Above this many GETs for all pools within `countedMs`, a watch is cheaper. */
const manyGets = 400;
const countedMs = 10_000;

const nodeFacts: Resource<NodeFacts> = {
  ...{ group: "", version: "v1", plural: "nodes" },
  schema: z.custom<V1Node>((node) => typeof node === "object" && node !== null).transform(factsOf),
};

/** Reads nodes of one API server: from a watch if that is cheaper, else with one GET per node. */
export class NodeWatch extends SharedWatch<NodeFacts> {
  readonly #kube: Kube;
  #gets = { since: 0, number: 0 };

  constructor(kube: Kube) {
    super(kube, nodeFacts);
    this.#kube = kube;
  }

  /** Returns facts by node name, without absent nodes; from the watch if it is current, else with one GET per node. */
  async find(names: string[], now = Date.now()): Promise<Map<string, NodeFacts>> {
    if (this.#isWorthIt(names.length, now)) this.ask(now);
    const kept = names.flatMap((name) => this.isFresh ? this.get(name) ?? [] : []);
    const known = new Set(kept.map(({ name }) => name));
    // A node that the watch has not reported yet may exist.
    const read = await readNodes(this.#kube, names.filter((name) => !known.has(name)));
    return new Map([...kept, ...read].map((facts) => [facts.name, facts]));
  }

  #isWorthIt(number: number, now: number): boolean {
    if (now - this.#gets.since > countedMs) this.#gets = { since: now, number: 0 };
    this.#gets.number += number;
    return number > fewNodes || this.#gets.number > manyGets;
  }
}

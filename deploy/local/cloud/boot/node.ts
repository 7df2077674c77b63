import { V1MicroTime, type V1Node } from "@kubernetes/client-node";
import { asMergePatch } from "../../../../activities/kube/client.ts";
import { statusOf } from "../../../../activities/kube/status.ts";
import { type Connection, reasonOf, strategicPatch } from "../kube.ts";
import type { Link } from "../link.ts";
import { Hopeless, rest, withinSeconds } from "../patience.ts";
import { nodeConditions, type NodeFacts, nodeObject, nodeStatus } from "./node_object.ts";

const leaseNamespace = "kube-node-lease";
const reportEveryMs = 60_000;

/** Registers a Node and sends its heartbeats like a kubelet, with the node's identity. */
export class NodeAgent {
  readonly #connection: Connection;
  readonly #facts: NodeFacts;
  readonly #link: Link;
  #isReady = false;
  #reportedAt = 0;

  constructor(connection: Connection, facts: NodeFacts, link: Link) {
    this.#connection = connection;
    this.#facts = facts;
    this.#link = link;
  }

  /** Creates the Node, or after a reboot adopts the Node that the same machine created before. */
  async register(): Promise<void> {
    this.#link.use();
    const body = nodeObject(this.#facts);
    try {
      await this.#connection.core.createNode({ body });
    } catch (error) {
      if (statusOf(error) !== 409) throw error;
      await this.#adopt();
    }
    await this.#renewLease();
    this.#reportedAt = Date.now();
  }

  /** Reports Ready or NotReady immediately, and with each following heartbeat. */
  async setReady(isReady: boolean): Promise<void> {
    this.#isReady = isReady;
    this.#reportedAt = 0;
    await this.beat();
  }

  /**
   * Renews the lease, and writes the conditions if they differ from those of the Node, or if a minute has passed since
   * they were last written. Throws Hopeless if the Node was deleted, because a running kubelet does not register again.
   */
  async beat(): Promise<void> {
    this.#link.use();
    await this.#renewLease();
    const conditions = (await this.#read()).status?.conditions ?? [];
    const wanted = nodeConditions(this.#isReady, conditions, new Date());
    const isTrue = wanted.every(({ type, status }) => conditions.find((old) => old.type === type)?.status === status);
    if (isTrue && Date.now() - this.#reportedAt < reportEveryMs) return;
    await this.#patchStatus({ conditions: wanted });
    this.#reportedAt = Date.now();
  }

  /**
   * Sends heartbeats until the signal aborts or the Node is deleted. Skips heartbeats during a partition; of several
   * failures in a row, logs only the first.
   */
  async keepAlive(everySeconds: () => number, signal: AbortSignal, log: (line: string) => void): Promise<void> {
    let wasFailing = false;
    while (!signal.aborted) {
      await rest(everySeconds(), signal);
      if (signal.aborted || !this.#link.isUp) continue;
      try {
        await withinSeconds(10, this.beat());
        wasFailing = false;
      } catch (error) {
        if (signal.aborted) return;
        if (!wasFailing) log(`heartbeat failed: ${reasonOf(error)}`);
        wasFailing = true;
        if (error instanceof Hopeless) return;
      }
    }
  }

  async #adopt(): Promise<void> {
    const node = await this.#read();
    if (node.spec?.providerID !== this.#facts.providerId) {
      throw new Hopeless(`Failed to register Node "${this.#facts.name}": another machine has that name`);
    }
    const conditions = nodeConditions(false, node.status?.conditions ?? [], new Date());
    await this.#patchStatus({ ...nodeStatus(this.#facts), conditions });
  }

  async #read(): Promise<V1Node> {
    const { name } = this.#facts;
    try {
      return await this.#connection.core.readNode({ name });
    } catch (error) {
      if (statusOf(error) === 404) throw new Hopeless(`Failed to update Node "${name}": it was deleted`);
      throw error;
    }
  }

  async #patchStatus(status: V1Node["status"]): Promise<void> {
    await this.#connection.core.patchNodeStatus({ name: this.#facts.name, body: { status } }, strategicPatch);
  }

  async #renewLease(): Promise<void> {
    const { name } = this.#facts;
    const renewTime = new V1MicroTime();
    const request = { name, namespace: leaseNamespace, body: { spec: { renewTime: renewTime.toISOString() } } };
    try {
      await this.#connection.leases.patchNamespacedLease(request, asMergePatch);
    } catch (error) {
      if (statusOf(error) !== 404) throw error;
      await this.#createLease(renewTime);
    }
  }

  async #createLease(renewTime: V1MicroTime): Promise<void> {
    const { name } = this.#facts;
    const uid = (await this.#read()).metadata?.uid ?? "";
    const ownerReferences = [{ apiVersion: "v1", kind: "Node", name, uid }];
    const spec = { holderIdentity: name, leaseDurationSeconds: 40, renewTime };
    await this.#connection.leases.createNamespacedLease({
      namespace: leaseNamespace,
      body: { metadata: { name, ownerReferences }, spec },
    });
  }
}

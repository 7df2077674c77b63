/** The certificate that the webhooks make for themselves, kept in a Secret of which all of them read. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import type { Kube } from "../../../activities/kube/client.ts";
import type { ObjectName } from "../../../activities/kube/resources.ts";
import { ifFound, statusOf } from "../../../activities/kube/status.ts";
import { type DueStep, dueStepOf, isSound, type SelfMade, stepped } from "./self_made_state.ts";

export interface OwnCertificateOrder {
  readonly secret: ObjectName;
  /** Names and IP addresses by which the API server calls. */
  readonly hosts: readonly string[];
  /** How long a change takes at most to reach everybody (ms). */
  readonly overlapMs: number;
  /** Epoch ms. */
  readonly now?: () => number;
  /** Ms of a clock that is never set. */
  readonly elapsed?: () => number;
}

/** Tries of one look where others write at the same time. */
const tries = 5;

/** One webhook's sight of it. What it waits for it measures by its own clock: no two clocks are compared. */
export class OwnCertificate {
  /** As it was seen last; outlives the Secret. */
  #known: SelfMade | undefined;
  /** When each PEM was first seen to be trusted, or to be what is shown. */
  readonly #since = new Map<string, number>();

  constructor(private readonly kube: Kube, private readonly order: OwnCertificateOrder) {}

  /** Reads what is to be shown and trusted now, and does what is due: one step at a time, of one webhook. */
  async look(): Promise<SelfMade> {
    for (let nth = 1; nth <= tries; nth++) {
      const { found, state } = await this.#read();
      const step = this.#stepAfter(state);
      const next = await this.#taken(state, step);
      if (next && (!step || await this.#write(next, found))) return this.#seen(next);
    }
    throw new Error(`Failed to write the certificate to Secret "${this.#name}": repeated conflicts with other writers`);
  }

  /** The API server has been told of these authorities. */
  sawTrusted({ authorities: [newest = ""] }: SelfMade): void {
    this.#mark(newest);
  }

  // Who deletes the Secret, or breaks it, wants a new key: what was there stays trusted for the overlap.
  #stepAfter(state: SelfMade | undefined): DueStep | undefined {
    if (!state && this.#known) return "addAuthority";
    const { hosts, overlapMs, now = Date.now } = this.order;
    const [newest = ""] = state?.authorities ?? [];
    const [trustedMs, shownMs] = [newest, state?.serving.cert ?? ""].map((pem) => this.#lasting(pem));
    return dueStepOf(state, { now: now(), hosts, overlapMs, trustedMs: trustedMs ?? 0, shownMs: shownMs ?? 0 });
  }

  async #taken(state: SelfMade | undefined, step: DueStep | undefined): Promise<SelfMade | undefined> {
    if (!step) return state;
    const { hosts, now = Date.now } = this.order;
    return await stepped(state ?? this.#known, step, { now: now(), hosts });
  }

  #seen(state: SelfMade): SelfMade {
    this.#mark(state.serving.cert);
    return this.#known = state;
  }

  #mark(pem: string): void {
    if (!this.#since.has(pem)) this.#since.set(pem, this.#elapsed());
  }

  #lasting(pem: string): number {
    const since = this.#since.get(pem);
    return since === undefined ? 0 : this.#elapsed() - since;
  }

  #elapsed(): number {
    return (this.order.elapsed ?? (() => performance.now()))();
  }

  get #name(): string {
    return `${this.order.secret.namespace}/${this.order.secret.name}`;
  }

  async #read(): Promise<{ found: V1Secret | undefined; state: SelfMade | undefined }> {
    const found = await ifFound(this.kube.core.readNamespacedSecret({ ...this.order.secret }));
    const state = found && stateIn(found);
    return { found, state: state && isSound(state) ? state : undefined };
  }

  /** False where another webhook was faster. */
  async #write(state: SelfMade, found: V1Secret | undefined): Promise<boolean> {
    const { namespace, name } = this.order.secret;
    const metadata = { ...found?.metadata, namespace, name };
    const body: V1Secret = { metadata, type: "Opaque", stringData: textsOf(state) };
    try {
      // With the resource version that was read, as `metadata` has it.
      if (found) await this.kube.core.replaceNamespacedSecret({ namespace, name, body });
      else await this.kube.core.createNamespacedSecret({ namespace, body });
      return true;
    } catch (error) {
      if ([404, 409].includes(statusOf(error) ?? 0)) return false;
      throw error;
    }
  }
}

function textsOf({ authorities, authorityKey, serving }: SelfMade): Record<string, string> {
  return { "ca.crt": authorities.join(""), "ca.key": authorityKey, "tls.crt": serving.cert, "tls.key": serving.key };
}

function stateIn({ data = {} }: V1Secret): SelfMade {
  const text = (key: string): string => Buffer.from(data[key] ?? "", "base64").toString();
  const authorities = text("ca.crt").match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----\n/g) ?? [];
  return { authorities, authorityKey: text("ca.key"), serving: { cert: text("tls.crt"), key: text("tls.key") } };
}

/** The certificate that the webhooks create for themselves, in a Secret that all of them read. */
import { Buffer } from "node:buffer";
import type { V1Secret } from "@kubernetes/client-node";
import type { Kube } from "../../../activities/kube/client.ts";
import type { ObjectName } from "../../../activities/kube/resources.ts";
import { ifFound, statusOf } from "../../../activities/kube/status.ts";
import { type DueStep, dueStepOf, isSound, type SelfMade, stepped } from "./self_made_state.ts";

interface OwnCertificateOrder {
  readonly secret: ObjectName;
  /** Names and IP addresses by which API servers reach the webhooks. */
  readonly hosts: readonly string[];
  /** The longest time for a change to reach all webhooks and API servers (ms). */
  readonly overlapMs: number;
  /** Epoch ms. */
  readonly now?: () => number;
  /** Milliseconds of a monotonic clock. */
  readonly elapsed?: () => number;
}

/** Attempts per check if others write at the same time. */
const tries = 5;

/**
 * The certificate as one webhook process reads it over time. Durations are measured by the clock of this process, so
 * that no two clocks are compared.
 */
export class OwnCertificate {
  /** The state that was read last; kept if the Secret is deleted. */
  #known: SelfMade | undefined;
  /** By PEM: since when an authority has been trusted, or a certificate has been served (ms of the monotonic clock). */
  readonly #since = new Map<string, number>();

  constructor(private readonly kube: Kube, private readonly order: OwnCertificateOrder) {}

  /**
   * Reads the current state, takes the step that is due, if any, and returns the resulting state. Only one webhook
   * takes each step.
   */
  async look(): Promise<SelfMade> {
    for (let nth = 1; nth <= tries; nth++) {
      const { found, state } = await this.#read();
      const step = this.#stepAfter(state);
      const next = await this.#taken(state, step);
      if (next && (!step || await this.#write(next, found))) return this.#seen(next);
    }
    throw new Error(`Failed to write the certificate to Secret "${this.#name}": repeated conflicts with other writers`);
  }

  /** Records that the API server trusts these authorities. */
  sawTrusted({ authorities: [newest = ""] }: SelfMade): void {
    this.#mark(newest);
  }

  // A deleted or broken Secret gets a new key; the previous authorities stay trusted for the overlap.
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

  /** Returns false after a conflict with another webhook. */
  async #write(state: SelfMade, found: V1Secret | undefined): Promise<boolean> {
    const { namespace, name } = this.order.secret;
    const metadata = { ...found?.metadata, namespace, name };
    const body: V1Secret = { metadata, type: "Opaque", stringData: textsOf(state) };
    try {
      // `metadata` has the resource version that was read, so the API server refuses to overwrite a later change.
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

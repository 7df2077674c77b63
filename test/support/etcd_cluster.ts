/**
 * A real etcd of several members, each a process with its own address and with TLS on both sides, as kubeadm makes it:
 * members are started one by one, join as learners, and are stopped, killed and emptied.
 */
import { Buffer } from "node:buffer";
import { mkdir, rm, writeFile } from "node:fs/promises";
import https from "node:https";
import { join } from "node:path";
import { httpProbe } from "../../deploy/local/process/http_probe.ts";
import type { ProcessSpec } from "../../deploy/local/process/supervised_process.ts";
import type { Supervisor } from "../../deploy/local/process/supervisor.ts";
import { CertificateAuthority, type KeyedCertificate } from "../../deploy/local/stack/certificate_authority.ts";
import { eventually } from "./eventually.ts";

/** The name and address of a member, which a test chooses. */
export interface EtcdPlace {
  /** The name of the machine and of the member. */
  readonly name: string;
  /** A loopback address such as 127.1.2.3, which needs no setup on Linux. */
  readonly address: string;
}

export interface EtcdClusterOptions {
  /** Folder of the certificates and the data, which has no other content. */
  readonly directory: string;
  /** Path of the etcd binary. */
  readonly etcd: string;
  readonly supervisor: Supervisor;
  /** Added to the command line of every member. */
  readonly args?: readonly string[];
  /** The certificate authority, for a test that uses it longer than this etcd; by default a new one. */
  readonly authority?: CertificateAuthority;
}

/** A member in etcd's own list, in etcd's notation. */
export interface ListedMember {
  ID: string;
  name?: string;
  peerURLs: string[];
  clientURLs?: string[];
  isLearner?: boolean;
}

const [clientPort, peerPort] = [2379, 2380];

/** Time limit (ms): kubeadm's own timeout for one request to etcd (its constant `EtcdAPICallTimeout`). */
const patienceMs = 120_000;

export class EtcdCluster {
  readonly #options: EtcdClusterOptions;
  readonly #authority: CertificateAuthority;
  readonly #client: KeyedCertificate;
  readonly #places = new Map<string, EtcdPlace>();

  private constructor(options: EtcdClusterOptions, authority: CertificateAuthority, client: KeyedCertificate) {
    this.#options = options;
    this.#authority = authority;
    this.#client = client;
  }

  /** Creates the certificate authority and the client's certificate, but no members. */
  static async create(options: EtcdClusterOptions): Promise<EtcdCluster> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const authority = options.authority ?? await CertificateAuthority.create("etcd");
    const client = await authority.issue({ commonName: "ostler", use: "client" });
    await writeFile(join(options.directory, "ca.crt"), authority.certificatePem);
    return new EtcdCluster(options, authority, client);
  }

  /** The client's credentials, as in a Secret. */
  get credentials(): { ca: string; cert: string; key: string } {
    const { certificatePem: cert, keyPem: key } = this.#client;
    return { ca: this.#authority.certificatePem, cert, key };
  }

  /**
   * Returns the endpoints of all members that were started, also of stopped ones, except for those removed by `forget`.
   */
  get endpoints(): string[] {
    return [...this.#places.values()].map(endpointAt);
  }

  endpoint(name: string): string {
    return endpointAt(this.#place(name));
  }

  /** Starts a new etcd cluster of these members; resolves when all of them serve. */
  async start(...places: EtcdPlace[]): Promise<void> {
    const cluster = places.map((place) => `${place.name}=${peerAt(place)}`).join(",");
    await Promise.all(places.map((place) => this.#run(place, { cluster, state: "new" })));
    await this.settled();
  }

  /** Adds a member as kubeadm joins a machine: added as a learner, started, promoted; `added` runs before the start. */
  async join(place: EtcdPlace, added: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const id = await this.addLearner(place);
    await added();
    await this.startAdded(place);
    await eventually(`"${place.name}" votes`, () => this.promote(id), { withinMs: patienceMs });
  }

  /**
   * Adds a learner without starting it; returns its ID in decimal. Waits while etcd treats its members as unhealthy, as
   * it does at first.
   */
  async addLearner(place: EtcdPlace): Promise<string> {
    return await this.#add(place, true);
  }

  /** Adds a voter that is not started, like a machine that is lost for good. */
  async addVoter(place: EtcdPlace): Promise<string> {
    return await this.#add(place, false);
  }

  /** Starts the process of an added member; resolves when it responds. */
  async startAdded(place: EtcdPlace): Promise<void> {
    // Repeated, because etcd returns no list while it has no leader, as for a moment after the leader was lost.
    const members = await eventually(`"${place.name}" is listed`, async () => {
      const listed = await this.members();
      return listed.some(({ peerURLs }) => peerURLs.includes(peerAt(place))) && listed;
    }, { withinMs: patienceMs });
    const named = members.map(({ name, peerURLs }) =>
      `${peerURLs.includes(peerAt(place)) ? place.name : name}=${peerURLs[0]}`
    );
    await this.#run(place, { cluster: named.join(","), state: "existing" });
  }

  /** Promotes a learner; returns whether the member is a voter now, false if it is not in sync yet. */
  async promote(id: string): Promise<boolean> {
    const { status } = await this.#ask("/v3/cluster/member/promote", { ID: id });
    if (status === 200) return true;
    // etcd also refuses to promote a member that another client has promoted already.
    const member = (await this.members()).find(({ ID }) => ID === id);
    return member !== undefined && !member.isLearner;
  }

  /** Suspends the process, which neither responds nor ends, like a partition or a stuck disk. */
  stop(name: string): void {
    this.#options.supervisor.get(name).kill("SIGSTOP");
  }

  goOn(name: string): void {
    this.#options.supervisor.get(name).kill("SIGCONT");
  }

  /** Kills the process like a power failure; the data stay. */
  async kill(name: string): Promise<void> {
    const process = this.#options.supervisor.get(name);
    process.kill("SIGKILL");
    await process.exit;
  }

  /** Starts a member again on its existing data. */
  async restart(name: string): Promise<void> {
    await this.#options.supervisor.get(name).restart();
  }

  /** Deletes the data of a member and forgets the member here; etcd still lists it. */
  async forget(name: string): Promise<void> {
    await this.kill(name);
    await rm(this.#data(name), { recursive: true, force: true });
    this.#places.delete(name);
  }

  /** Resolves when every member of `endpoints` responds and all of them report the same leader. */
  async settled(): Promise<void> {
    await eventually("members have one leader", async () => {
      const told = await Promise.all(this.endpoints.map((at) => this.#askAt(at, "/v3/maintenance/status", {})));
      const leaders = new Set(told.map(({ answer }) => (answer as { leader?: string }).leader));
      return leaders.size === 1 && !leaders.has(undefined);
    });
  }

  async members(): Promise<ListedMember[]> {
    const { answer } = await this.#ask("/v3/cluster/member/list", { linearizable: true });
    return (answer as { members?: ListedMember[] }).members ?? [];
  }

  async put(key: string, value: string): Promise<boolean> {
    return (await this.#ask("/v3/kv/put", { key: base64(key), value: base64(value) })).status === 200;
  }

  async get(key: string): Promise<string | undefined> {
    const { answer } = await this.#ask("/v3/kv/range", { key: base64(key) });
    const value = (answer as { kvs?: { value?: string }[] }).kvs?.[0]?.value;
    return value === undefined ? undefined : Buffer.from(value, "base64").toString();
  }

  /** Reads what a member knows by itself, which needs no quorum. */
  async ask(): Promise<void> {
    await this.#ask("/v3/maintenance/status", {});
  }

  async #add(place: EtcdPlace, isLearner: boolean): Promise<string> {
    const order = { peerURLs: [peerAt(place)], isLearner };
    return await eventually(`"${place.name}" is added`, async () => {
      const { status, answer } = await this.#ask("/v3/cluster/member/add", order);
      return status === 200 && (answer as { member: ListedMember }).member.ID;
    }, { withinMs: patienceMs });
  }

  #place(name: string): EtcdPlace {
    const place = this.#places.get(name);
    if (place === undefined) throw new Error(`Failed to find member "${name}": it was never started`);
    return place;
  }

  async #run(place: EtcdPlace, joining: Joining): Promise<void> {
    const { address, name } = place;
    // etcd checks that a peer's certificate has the address from which the peer connects: over loopback that is
    // 127.0.0.1 for all members.
    const ipAddresses = [address, "127.0.0.1"];
    const { certificatePem, keyPem } = await this.#authority.issue({
      ...{ commonName: name, use: "client and server", ipAddresses } as const,
    });
    await writeFile(join(this.#options.directory, `${name}.crt`), certificatePem);
    await writeFile(join(this.#options.directory, `${name}.key`), keyPem, { mode: 0o600 });
    this.#places.set(name, place);
    await this.#options.supervisor.start(this.#spec(place, joining));
  }

  #spec(place: EtcdPlace, { cluster, state }: Joining): ProcessSpec {
    const { directory, etcd, args = [] } = this.#options;
    const [client, peer] = [endpointAt(place), peerAt(place)];
    const file = (name: string): string => join(directory, name);
    const tls = (prefix: string): string[] => [
      `--${prefix}client-cert-auth`,
      `--${prefix}trusted-ca-file=${file("ca.crt")}`,
      `--${prefix}cert-file=${file(`${place.name}.crt`)}`,
      `--${prefix}key-file=${file(`${place.name}.key`)}`,
    ];
    return {
      name: place.name,
      command: etcd,
      args: [
        ...[`--name=${place.name}`, `--data-dir=${this.#data(place.name)}`],
        ...[`--listen-client-urls=${client}`, `--advertise-client-urls=${client}`],
        ...[`--listen-peer-urls=${peer}`, `--initial-advertise-peer-urls=${peer}`],
        ...[`--initial-cluster=${cluster}`, `--initial-cluster-state=${state}`],
        ...[...tls(""), ...tls("peer-"), "--unsafe-no-fsync", "--log-level=warn", ...args],
      ],
      // Probes the version and not the health: a learner does not count as healthy, and answers only requests about
      // itself.
      ready: httpProbe({ url: `${client}/version`, ...this.#asClient() }),
      readyTimeoutMs: 30_000,
    };
  }

  #asClient(): { caPem: string; client: KeyedCertificate } {
    return { caPem: this.#authority.certificatePem, client: this.#client };
  }

  #data(name: string): string {
    return join(this.#options.directory, `${name}.data`);
  }

  /** Calls one member after another until one responds. */
  async #ask(path: string, body: object): Promise<Asked> {
    for (const endpoint of this.endpoints) {
      const asked = await this.#askAt(endpoint, path, body);
      if (asked.status !== 0) return asked;
    }
    return { status: 0, answer: {} };
  }

  async #askAt(endpoint: string, path: string, body: object): Promise<Asked> {
    const { ca, cert, key } = this.credentials;
    const agent = new https.Agent({ keepAlive: false });
    return await new Promise((resolve) => {
      const none = (): void => resolve({ status: 0, answer: {} });
      const options = { method: "POST", agent, ca, cert, key, signal: AbortSignal.timeout(3_000) };
      https.request(new URL(path, endpoint), options, (response) => {
        const parts: Uint8Array[] = [];
        response.on("data", (part: Uint8Array) => parts.push(part)).on("error", none);
        response.on("end", () => {
          resolve({ status: response.statusCode ?? 0, answer: JSON.parse(Buffer.concat(parts).toString() || "{}") });
        });
      }).on("error", none).end(JSON.stringify(body));
    });
  }
}

interface Joining {
  /** The initial members in the form `name=https://…,…`. */
  cluster: string;
  state: "new" | "existing";
}

interface Asked {
  /** HTTP status; 0 without a response. */
  status: number;
  answer: unknown;
}

function endpointAt({ address }: EtcdPlace): string {
  return `https://${address}:${clientPort}`;
}

function peerAt({ address }: EtcdPlace): string {
  return `https://${address}:${peerPort}`;
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

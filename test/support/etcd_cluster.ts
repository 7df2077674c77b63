/**
 * A real etcd of several members, each a process on an address of its own with TLS on both sides, as kubeadm makes it:
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

/** One member as a test thinks of it. */
export interface EtcdPlace {
  /** Its machine's, and the member's. */
  readonly name: string;
  /** Such as 127.1.2.3, which needs no set-up on Linux. */
  readonly address: string;
}

export interface EtcdClusterOptions {
  /** Certificates, data, and nothing else. */
  readonly directory: string;
  /** The binary. */
  readonly etcd: string;
  readonly supervisor: Supervisor;
  /** Added to the command line of every member. */
  readonly args?: readonly string[];
  /** An authority that outlives this etcd; a new one unless told. */
  readonly authority?: CertificateAuthority;
}

/** A member in etcd's own list, in its own spelling. */
export interface ListedMember {
  ID: string;
  name?: string;
  peerURLs: string[];
  clientURLs?: string[];
  isLearner?: boolean;
}

const [clientPort, peerPort] = [2379, 2380];

/** As long as kubeadm asks etcd for one thing (its constant `EtcdAPICallTimeout`). */
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

  /** Keys and certificates; no member yet. */
  static async create(options: EtcdClusterOptions): Promise<EtcdCluster> {
    await mkdir(options.directory, { recursive: true, mode: 0o700 });
    const authority = options.authority ?? await CertificateAuthority.create("etcd");
    const client = await authority.issue({ commonName: "ostler", use: "client" });
    await writeFile(join(options.directory, "ca.crt"), authority.certificatePem);
    return new EtcdCluster(options, authority, client);
  }

  /** What a client needs, as a Secret has it. */
  get credentials(): { ca: string; cert: string; key: string } {
    const { certificatePem: cert, keyPem: key } = this.#client;
    return { ca: this.#authority.certificatePem, cert, key };
  }

  /** Of all members that were ever started and not forgotten. */
  get endpoints(): string[] {
    return [...this.#places.values()].map(endpointAt);
  }

  endpoint(name: string): string {
    return endpointAt(this.#place(name));
  }

  /** Begins a new etcd of these members, all at once; resolves when all of them serve. */
  async start(...places: EtcdPlace[]): Promise<void> {
    const cluster = places.map((place) => `${place.name}=${peerAt(place)}`).join(",");
    await Promise.all(places.map((place) => this.#run(place, { cluster, state: "new" })));
    await this.settled();
  }

  /** As kubeadm joins a machine: added as a learner, started, promoted; `added` happens before it is started. */
  async join(place: EtcdPlace, added: () => Promise<void> = () => Promise.resolve()): Promise<void> {
    const id = await this.addLearner(place);
    await added();
    await this.startAdded(place);
    await eventually(`"${place.name}" votes`, () => this.promote(id), { withinMs: patienceMs });
  }

  /** Only adds it to the list; gives its id in decimal. Waits while etcd takes its members for unwell, as it does at first. */
  async addLearner(place: EtcdPlace): Promise<string> {
    return await this.#add(place, true);
  }

  /** A voter that is not started, as a machine that is gone for good leaves it. */
  async addVoter(place: EtcdPlace): Promise<string> {
    return await this.#add(place, false);
  }

  /** Starts the process of a member that was added; resolves when it answers. */
  async startAdded(place: EtcdPlace): Promise<void> {
    // Without a leader nobody gives the list, as for a moment after one is lost.
    const members = await eventually(`"${place.name}" is listed`, async () => {
      const listed = await this.members();
      return listed.some(({ peerURLs }) => peerURLs.includes(peerAt(place))) && listed;
    }, { withinMs: patienceMs });
    const named = members.map(({ name, peerURLs }) =>
      `${peerURLs.includes(peerAt(place)) ? place.name : name}=${peerURLs[0]}`
    );
    await this.#run(place, { cluster: named.join(","), state: "existing" });
  }

  /** Whether it votes now; false where it is not in sync yet. */
  async promote(id: string): Promise<boolean> {
    const { status } = await this.#ask("/v3/cluster/member/promote", { ID: id });
    if (status === 200) return true;
    // Etcd also refuses to promote a member that another client has promoted already.
    const member = (await this.members()).find(({ ID }) => ID === id);
    return member !== undefined && !member.isLearner;
  }

  /** It neither answers nor ends: a partition, or a disk that is stuck. */
  stop(name: string): void {
    this.#options.supervisor.get(name).kill("SIGSTOP");
  }

  goOn(name: string): void {
    this.#options.supervisor.get(name).kill("SIGCONT");
  }

  /** As a machine that loses power; its data stay. */
  async kill(name: string): Promise<void> {
    const process = this.#options.supervisor.get(name);
    process.kill("SIGKILL");
    await process.exit;
  }

  /** Starts it again on the data that it has. */
  async restart(name: string): Promise<void> {
    await this.#options.supervisor.get(name).restart();
  }

  /** Its disk is empty, and nothing here remembers it; etcd's list does. */
  async forget(name: string): Promise<void> {
    await this.kill(name);
    await rm(this.#data(name), { recursive: true, force: true });
    this.#places.delete(name);
  }

  /** Resolves when every member of the list answers and all have one leader. */
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

  /** Asks a member what it knows by itself: answered without a quorum, by whoever would be asked to write. */
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
    if (place === undefined) throw new Error(`Cannot find member "${name}": it was never started`);
    return place;
  }

  async #run(place: EtcdPlace, joining: Joining): Promise<void> {
    const { address, name } = place;
    // Members look whether who calls has its address in its certificate, and over the loopback all call from this one.
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
      // A learner is not healthy for all, and answers of itself.
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

  /** Asks one after the other, until one answers at all. */
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
  /** As `name=https://…,…`. */
  cluster: string;
  state: "new" | "existing";
}

interface Asked {
  /** 0 for no answer. */
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

/** A cluster in memory whose control planes renew their certificates, and the activities over it. */
import type { WorkflowHandle } from "@temporalio/client";
import { certificatesIdOf, holderOfRenewal, poolOfGroup } from "../../workflows/commands/start_options.ts";
import type {
  AwaitActivities,
  NodeVersionOutcome,
  ReadActivities,
  RenewalActivities,
  RenewalOrder,
  RenewalPlane,
  RenewalSurvey,
  RenewalWaits,
  Rules,
  UpgradeOutcome,
  UpgradeStanding,
  UpgradeTrouble,
  WriteActivities,
} from "../../workflows/contracts/mod.ts";
import { failure } from "./fake_failure.ts";
import { controlPlane, versions } from "./upgrade_surveys.ts";
import type { Stage } from "./workflow_stage.ts";

/**
 * The activities whose input names the NodeVersion; the input of `OfPools` names a pool: that of the control planes, or
 * the holder of the slot.
 */
type OfVersion = RenewalActivities & RenewalWaits;
type OfPools =
  & Pick<ReadActivities, "readDesired">
  & Pick<WriteActivities, "ensureSlotTaken" | "ensureSlotsKept">
  & Pick<AwaitActivities, "awaitMachineRelieved">;

interface Plane extends RenewalPlane {
  /** Whether the files of the control plane have new certificates. */
  isRenewed: boolean;
}

let clusters = 0;

/** By default three control planes "a", "b" (the leader of etcd) and "c", whose certificates expire soon. */
export class FakeRenewal {
  readonly name: string;
  readonly cluster: string | undefined;
  readonly group = `certified${++clusters}`;
  readonly planes: Plane[];
  generation = 1;
  setting = "";
  told = "";
  trouble: UpgradeTrouble | null = null;
  isGone = false;
  doubts: string[] = [];
  rules: Partial<Rules> = {};
  /** Holders of the slots of the shared budget; the renewal is among them while it has a slot. */
  slots: string[] = [];
  /** Every effect, as "verb node", in order. */
  readonly done: string[] = [];
  /** The reasons of all reports, in order. */
  readonly reasons: string[] = [];
  standing: UpgradeStanding = { reason: "", message: "" };
  /** Promises that the renewal has broken, as text. */
  readonly violations: string[] = [];
  /** Returns the result of an order in place of its execution; undefined executes the order. */
  meet: (node: string) => UpgradeOutcome | undefined = () => undefined;
  /** Returns the error with which the activity of that name fails; undefined lets it succeed. */
  failing: (activity: string) => Error | undefined = () => undefined;
  /** Runs before each effect, given as "verb node". */
  before: (effect: string) => Promise<void> | void = () => {};
  /** Returns whether a control plane is healthy. */
  isHealthy: (node: string) => boolean = () => true;
  /** Durations (ms) in which a wait could read nothing: each is reported once, by the next wait. */
  unseen: number[] = [];

  constructor(nodes: readonly string[] = ["c", "b", "a"], { cluster }: { cluster?: string } = {}) {
    this.name = `certified${clusters}`;
    this.cluster = cluster;
    this.planes = nodes.map((node) => ({
      ...controlPlane(node, { group: this.group, machine: `${this.group}-${node}`, isLeader: node === "b" }),
      ...{ due: `API server of node "${node}", which expires at 2027-01-01T00:00:00Z`, isRenewed: false },
    }));
  }

  get object(): { cluster?: string; name: string } {
    return this.cluster === undefined ? { name: this.name } : { cluster: this.cluster, name: this.name };
  }

  /** Makes the worker of the test's Temporal server (`stage`) execute these activities. */
  on(stage: Stage): this {
    stage.activities.renewals.set(this.name, this.ofVersion());
    for (const { name } of [poolOfGroup(this.group), holderOfRenewal({ name: this.name })]) {
      stage.activities.others.set(name, this.ofPools() as never);
    }
    return this;
  }

  /** Starts the run, or signals the running one that something changed. */
  async start(stage: Stage): Promise<WorkflowHandle & { result(): Promise<NodeVersionOutcome> }> {
    return await stage.client.workflow.signalWithStart("renewCertificates", {
      ...{ workflowId: certificatesIdOf(this.object), taskQueue: "ostler", args: [this.object] },
      ...{ signal: "nodeVersionChanged", signalArgs: [] },
    }) as never;
  }

  plane(node: string): Plane {
    const found = this.planes.find((each) => each.node === node);
    if (!found) throw failure("MachineGone", `Failed to find control plane "${node}": it was deleted`);
    return found;
  }

  /** The effects on control planes that began with one of these verbs. */
  given(...verbs: string[]): string[] {
    return this.done.filter((effect) => verbs.includes(effect.split(" ")[0] ?? ""));
  }

  survey(): RenewalSurvey {
    if (this.isGone) return { state: "Gone" };
    const { generation, setting, told, trouble } = this;
    const controlPlanes = this.planes.map(({ isRenewed: _, ...plane }) => ({
      ...plane,
      isUnderWay: this.slots.some((each) => each.endsWith(plane.machine)),
    }));
    return { state: "Present", generation, cluster: versions.old, setting, told, trouble, controlPlanes };
  }

  ofVersion(): OfVersion {
    return this.#failing<OfVersion>({
      surveyRenewal: () => Promise.resolve(this.survey()),
      ensureCertificatesRead: async ({ node }) => {
        await this.#do(`read ${node}`);
        if (this.plane(node).isRenewed) this.plane(node).due = "";
      },
      ensureRenewalReported: ({ standing }) => {
        if (this.standing.reason !== standing.reason) this.reasons.push(standing.reason);
        this.standing = standing;
        this.told = standing.reason;
        return Promise.resolve();
      },
      awaitRenewalOrdered: async (order) => this.#late() ?? await this.#carryOut(order),
      awaitCertificatesRenewed: async ({ node }) => {
        const late = this.#late();
        if (late) return late;
        await this.before(`prove ${node}`);
        const isHealthy = this.plane(node).isRenewed && this.isHealthy(node);
        return { isHealthy, evidence: isHealthy ? "" : `etcd of ${node} did not restart` };
      },
    });
  }

  ofPools(): OfPools {
    return this.#failing<OfPools>({
      readDesired: () =>
        Promise.resolve({
          state: "Present",
          desired: {} as never,
          rules: { conflict: null, windows: null, ...this.rules } as Rules,
        }),
      ensureSlotTaken: async ({ pool, machine, of, limit }) => {
        if (of !== "ControlPlanes" || limit !== 1) this.violations.push("a slot of another budget");
        const holder = `${pool.namespace}/${pool.name}/${machine}`;
        if (this.slots.some((other) => other !== holder)) return { taken: false, holders: this.slots };
        if (this.slots.length === 0) await this.#do(`slot ${machine.slice(-1)}`);
        this.slots = [holder];
        return { taken: true, holders: [] };
      },
      ensureSlotsKept: async ({ pool, machines }) => {
        const isOwn = (holder: string): boolean => holder.startsWith(`${pool.namespace}/${pool.name}/`);
        const over = this.slots.filter((each) => isOwn(each) && !machines.some((machine) => each.endsWith(machine)));
        if (over.length > 0) await this.#do(`free ${over[0]?.slice(-1)}`);
        this.slots = this.slots.filter((each) => !over.includes(each));
      },
      awaitMachineRelieved: async ({ machine, returns, isLost, snapshot }) => {
        const node = machine.slice(-1);
        if (!returns) this.violations.push(`${node} leaves etcd`);
        if (snapshot) this.violations.push("a snapshot of etcd was requested");
        if (isLost && !this.slots.some((each) => each.endsWith(machine))) {
          this.violations.push(`${node} counts as lost`);
        }
        if (this.doubts.length > 0) return { state: "InDoubt", doubts: this.doubts };
        await this.#do(`relieve ${node}`);
        if (this.plane(node).isLeader && !isLost) {
          for (const plane of this.planes) plane.isLeader = false;
          const [next] = this.planes.filter((each) => each.node !== node);
          if (next) next.isLeader = true;
        }
        return { state: "Relieved", snapshot: null };
      },
    });
  }

  /** Returns steps that throw the error that `failing` returns for their name, if any, before they have an effect. */
  #failing<Steps extends object>(steps: Steps): Steps {
    type Step = (input: never) => Promise<unknown>;
    const guarded = Object.entries(steps as Record<string, Step>).map(([name, step]): [string, Step] => [
      name,
      (input) => {
        const failed = this.failing(name);
        return failed ? Promise.reject(failed) : step(input);
      },
    ]);
    return Object.fromEntries(guarded) as Steps;
  }

  #late(): { unseenMs: number } | undefined {
    const unseenMs = this.unseen.shift();
    return unseenMs === undefined ? undefined : { unseenMs };
  }

  async #do(effect: string): Promise<void> {
    await this.before(effect);
    this.done.push(effect);
  }

  /** Executes an order: a node that already has new certificates only completes the restarts. */
  async #carryOut({ node, version, token }: RenewalOrder): Promise<UpgradeOutcome> {
    const plane = this.plane(node);
    if (!/^[a-z0-9-]{1,63}$/.test(token)) this.violations.push(`the token is "${token}"`);
    if (version !== plane.components) this.violations.push(`kubeadm ${version} for other components on ${node}`);
    if (!this.slots.some((each) => each.endsWith(plane.machine))) this.violations.push(`${node} without a slot`);
    if (plane.isLeader && this.planes.length > 1) this.violations.push(`the leader ${node} restarts`);
    await this.#do(`${plane.isRenewed ? "Repeat" : "Renew"} ${node}`);
    const outcome = this.meet(node);
    if (outcome) return outcome;
    plane.isRenewed = true;
    return { outcome: "Done", message: "" };
  }
}

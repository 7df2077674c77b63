/** A cluster in memory whose control planes carry out orders of kubeadm, and the activities over it. */
import { Context } from "@temporalio/activity";
import type { WorkflowHandle } from "@temporalio/client";
import { holderOfUpgrade, poolOfGroup, upgradeIdOf } from "../../workflows/commands/start_options.ts";
import type {
  AwaitActivities,
  Blocker,
  ControlPlaneState,
  NodeVersionOutcome,
  ReadActivities,
  Rules,
  UpgradeActivities,
  UpgradeFinding,
  UpgradeOrder,
  UpgradeOutcome,
  UpgradeStanding,
  UpgradeSurvey,
  UpgradeWaits,
  WriteActivities,
} from "../../workflows/contracts/mod.ts";
import { failure } from "./fake_failure.ts";
import { controlPlane, versions } from "./upgrade_surveys.ts";
import type { Stage } from "./workflow_stage.ts";

/**
 * The activities whose input names the NodeVersion; the input of `OfPools` names a pool: that of the control planes, or
 * the holder of the slot.
 */
type OfVersion = UpgradeActivities & UpgradeWaits;
type OfPools =
  & Pick<ReadActivities, "readDesired">
  & Pick<WriteActivities, "ensureSlotTaken" | "ensureSlotsKept">
  & Pick<AwaitActivities, "awaitMachineRelieved" | "awaitNodeEmptied">;

interface Plane extends ControlPlaneState {
  isDrained: boolean;
}

let clusters = 0;

/**
 * By default three control planes "a", "b" (the leader of etcd) and "c", and a NodeVersion that desires the next minor
 * version.
 */
export class FakeUpgrade {
  readonly name = `version${++clusters}`;
  readonly group = `control${clusters}`;
  readonly planes: Plane[];
  version: string = versions.desired;
  cluster: string = versions.old;
  approved: string = versions.desired;
  retry = "";
  isGone = false;
  findings: UpgradeFinding[] = [];
  doubts: string[] = [];
  blockers: Blocker[] = [];
  rules: Partial<Rules> = {};
  /** Holders of the slots of the shared budget; the upgrade is among them while it has a slot. */
  slots: string[] = [];
  /** How often the upgrade renewed its slot. */
  renewals = 0;
  /** Every effect, as "verb node", in order. */
  readonly done: string[] = [];
  /** The reasons of all reports, in order. */
  readonly told: string[] = [];
  standing: UpgradeStanding = { reason: "", message: "" };
  /** Promises that the upgrade has broken, as text. */
  readonly violations: string[] = [];
  /** Returns the result of an order, given as "verb node", in place of its execution; undefined executes the order. */
  meet: (order: string) => UpgradeOutcome | undefined = () => undefined;
  /** Returns the error with which the activity of that name fails; undefined lets it succeed. */
  failing: (activity: string) => Error | undefined = () => undefined;
  /** Runs before each effect, given as "verb node". */
  before: (effect: string) => Promise<void> | void = () => {};
  /** Returns whether a control plane is healthy. */
  isHealthy: (node: string) => boolean = () => true;
  /** Durations (ms) in which a wait could read nothing: each is reported once, by the next wait. */
  unseen: number[] = [];
  readonly #results = new Map<string, UpgradeOutcome>();

  constructor(nodes: readonly string[] = ["c", "b", "a"]) {
    this.planes = nodes.map((node) => ({
      ...controlPlane(node, { group: this.group, machine: `${this.group}-${node}`, isLeader: node === "b" }),
      isDrained: false,
    }));
  }

  /** Makes the worker of the test's Temporal server (`stage`) execute these activities. */
  on(stage: Stage): this {
    stage.activities.upgrades.set(this.name, this.ofVersion());
    for (const { name } of [poolOfGroup(this.group), holderOfUpgrade({ name: this.name })]) {
      stage.activities.others.set(name, this.ofPools() as never);
    }
    return this;
  }

  /** Starts the run, or signals the running one that something changed. */
  async start(stage: Stage): Promise<WorkflowHandle & { result(): Promise<NodeVersionOutcome> }> {
    return await stage.client.workflow.signalWithStart("upgradeKubernetes", {
      workflowId: upgradeIdOf({ name: this.name }),
      taskQueue: "ostler",
      args: [{ name: this.name }],
      signal: "nodeVersionChanged",
      signalArgs: [],
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

  cordoned(): string[] {
    return this.planes.filter(({ isCordoned }) => isCordoned).map(({ node }) => node);
  }

  survey(): UpgradeSurvey {
    if (this.isGone) return { state: "Gone" };
    const { version, cluster, approved, retry } = this;
    const controlPlanes = this.planes.map(({ isDrained: _, ...plane }) => ({
      ...plane,
      isUnderWay: this.slots.some((each) => each.endsWith(plane.machine)),
    }));
    const seen = { version, cluster, approved, retry, controlPlanes };
    return {
      ...{ state: "Present", fingerprint: JSON.stringify(seen), digest: `digest of ${version}`, trouble: null },
      ...{ ...seen, components: `components of ${version}` },
      workers: { nodes: 2, oldest: versions.old, newest: versions.old },
    };
  }

  ofVersion(): OfVersion {
    return this.#failing<OfVersion>({
      surveyUpgrade: () => Promise.resolve(this.survey()),
      checkUpgrade: async ({ digest }) => {
        await this.#do("check cluster");
        return { digest, findings: this.findings };
      },
      ensureControlPlaneAnnounced: async ({ node, components }) => {
        await this.#do(`announce ${node}`);
        if (components !== `components of ${this.version}`) this.violations.push(`announced ${components} on ${node}`);
        this.plane(node).isAnnounced = true;
      },
      ensureControlPlaneUncordoned: async ({ node }) => {
        if (!this.plane(node).isCordoned) return;
        await this.#do(`uncordon ${node}`);
        Object.assign(this.plane(node), { isCordoned: false, isDrained: false });
      },
      ensureUpgradeEnded: async () => {
        await this.#do("end cordons");
        for (const plane of this.planes) plane.isCordoned = false;
      },
      ensureUpgradeReported: ({ standing }) => {
        if (this.standing.reason !== standing.reason) this.told.push(standing.reason);
        this.standing = standing;
        return Promise.resolve();
      },
      awaitUpgradeOrdered: async (order) => this.#late() ?? await this.#carryOut(order),
      awaitControlPlaneHealthy: async ({ node, version, kubelet }) => {
        const late = this.#late();
        if (late) return late;
        await this.before(`prove ${node}`);
        const plane = this.plane(node);
        const runs = plane.components === version && (!kubelet || plane.kubelet === version);
        const isHealthy = runs && this.isHealthy(node);
        return { isHealthy, evidence: isHealthy ? "" : `pod of ${node} is not Ready` };
      },
      awaitUpgradeChanged: ({ fingerprint, until }) =>
        this.#until(() => {
          const survey = this.survey();
          const isSame = survey.state === "Present" && survey.fingerprint === fingerprint;
          return isSame && Date.now() < until ? undefined : null;
        }).then(() => undefined),
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
      ensureSlotTaken: async ({ pool, machine }) => {
        const holder = `${pool.namespace}/${pool.name}/${machine}`;
        if (this.slots.some((other) => other !== holder)) return { taken: false, holders: this.slots };
        if (this.slots.length === 0) await this.#do(`slot ${machine.slice(-1)}`);
        else this.renewals += 1;
        this.slots = [holder];
        return { taken: true, holders: [] };
      },
      ensureSlotsKept: async ({ pool, machines }) => {
        const isOwn = (holder: string): boolean => holder.startsWith(`${pool.namespace}/${pool.name}/`);
        const over = this.slots.filter((each) => isOwn(each) && !machines.some((machine) => each.endsWith(machine)));
        if (over.length > 0) await this.#do(`free ${over[0]?.slice(-1)}`);
        this.slots = this.slots.filter((each) => !over.includes(each));
      },
      awaitMachineRelieved: async ({ machine, returns, isLost }) => {
        const node = machine.slice(-1);
        const { kubelet, components } = this.plane(node);
        if (isLost && kubelet === components) this.violations.push(`${node} counts as lost`);
        if (!returns) this.violations.push(`${node} leaves etcd`);
        if (this.doubts.length > 0) return { state: "InDoubt", doubts: this.doubts };
        await this.#do(`relieve ${node}`);
        if (this.plane(node).isLeader) {
          for (const plane of this.planes) plane.isLeader = false;
          const [next] = this.planes.filter((each) => each.node !== node);
          if (next) next.isLeader = true;
        }
        return { state: "Relieved", snapshot: { digest: "sha256:d", bytes: 7, at: "/snapshots/s" } };
      },
      awaitNodeEmptied: async ({ node, until, known, force, holder }) => {
        const late = this.#late();
        if (late) return late;
        if (holder?.name !== holderOfUpgrade(this).name) this.violations.push(`${node} is cordoned for a group`);
        if (!this.plane(node).isCordoned) await this.#do(`cordon ${node}`);
        this.plane(node).isCordoned = true;
        const { blockers } = this;
        const key = JSON.stringify(blockers);
        if (blockers.length > 0 && !force) {
          if (key === known) {
            await this.#until(() => Date.now() >= until || this.blockers !== blockers ? null : undefined);
          }
          return { outcome: "Blocked", evicted: 0, blockers, key };
        }
        if (!this.plane(node).isDrained) await this.#do(`drain ${node}`);
        this.plane(node).isDrained = true;
        return { outcome: "Drained", evicted: 1 };
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
    if (this.cordoned().length > 1) this.violations.push(`${this.cordoned().join(" and ")} are cordoned`);
  }

  /** Executes an order; an order with a known token returns its first result, and is not executed again. */
  async #carryOut(order: UpgradeOrder): Promise<UpgradeOutcome> {
    const { verb, node, version, digest, token } = order;
    const known = this.#results.get(token);
    if (known) return known;
    if (!/^[a-z0-9-]{1,63}$/.test(token)) this.violations.push(`the token of ${verb} is "${token}"`);
    if (digest !== `digest of ${this.version}`) throw failure("GenerationStale", "Failed to order: another version");
    await this.#do(`${verb} ${node}`);
    const outcome = this.meet(`${verb} ${node}`) ?? this.#change(order);
    this.#results.set(token, outcome);
    if (outcome.outcome === "Done" && verb !== "Plan" && version !== this.version) {
      this.violations.push(`${verb} of ${version}, which is not desired`);
    }
    return outcome;
  }

  #change({ verb, node, version }: UpgradeOrder): UpgradeOutcome {
    const plane = this.plane(node);
    const isSafe = plane.isCordoned && plane.isDrained && this.slots.some((each) => each.endsWith(plane.machine));
    if (verb !== "Plan" && verb !== "Fetch" && !isSafe) this.violations.push(`${verb} on ${node} while it serves`);
    if (verb !== "Plan" && this.approved !== version) this.violations.push(`${verb} on ${node} without approval`);
    if ((verb === "Apply" || verb === "Node") && plane.isLeader) this.violations.push(`${verb} on the leader ${node}`);
    if (verb === "Kubelet" && plane.components !== version) this.violations.push(`${node} has the newer kubelet first`);
    if (verb === "Node" && this.cluster !== version) this.violations.push(`${node} is upgraded before the first one`);
    if (verb === "Apply") this.cluster = version;
    if (verb === "Apply" || verb === "Node") plane.components = version;
    if (verb === "Kubelet") plane.kubelet = version;
    return { outcome: "Done", message: "" };
  }

  /** Calls `look` until it returns an answer, or the activity is cancelled. */
  async #until<T>(look: () => T | undefined): Promise<T> {
    const context = Context.current();
    for (;;) {
      const seen = look();
      if (seen !== undefined) return seen;
      context.heartbeat();
      await Promise.race([new Promise((resolve) => setTimeout(resolve, 20)), context.cancelled]);
    }
  }
}

/** The activities for NodeVersions: a test defines the result of each read, and the fake records each action. */
import { Context } from "@temporalio/activity";
import type {
  ClusterObject,
  DiscoveryActivities,
  NodeVersionActivities,
  NodeVersionWaits,
  VersionSurvey,
} from "../../workflows/contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

const still = { skewed: 0, unannounced: 0, atRest: 0, halted: [], waiting: [], moving: 0 };
const stage = { ...still, groups: 1, done: 0, outdated: 2 };

/** Returns a survey with two outdated workers, no released stage, and no autoscaler. */
export function surveyed(differs: Partial<Present> = {}): Present {
  const none = { ...stage, groups: 0, outdated: 0 };
  return {
    ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null, says: "2 outdated" },
    ...{
      stages: { ControlPlane: none, Workers: stage },
      autoscalers: "Off",
      isHeld: false,
      isSettled: false,
      invalid: 0,
    },
    ...differs,
  };
}

/** Returns the results of the reads of a NodeVersion whose control planes are rolled first, and then its workers. */
export function controlPlaneFirst(): Present[] {
  const [outdated, held] = [{ ...stage, outdated: 1 }, { isHeld: true, autoscalers: "Off" } as const];
  const rolling = { ControlPlane: { ...outdated, moving: 1 }, Workers: stage };
  const stages = { ControlPlane: { ...outdated, done: 1, atRest: 1, outdated: 0 }, Workers: stage };
  const done = { ControlPlane: stages.ControlPlane, Workers: { ...stages.ControlPlane } };
  const settled = { stages: done, isSettled: true, says: "All 3" };
  return [
    surveyed({ autoscalers: "On", stages: { ControlPlane: outdated, Workers: stage } }),
    surveyed({ ...held, stages: { ControlPlane: outdated, Workers: stage } }),
    surveyed({ ...held, released: "ControlPlane", stages: rolling }),
    surveyed({ ...held, released: "ControlPlane", stages }),
    surveyed({ ...held, released: "Workers", stages }),
    surveyed({ ...held, released: "Workers", ...settled }),
    surveyed({ ...held, ...settled }),
    surveyed(settled),
  ];
}

/**
 * Returns a survey of a NodeVersion whose control planes need an upgrade of Kubernetes, which a workflow of its own
 * executes.
 */
export function upgradeFirst(differs: Partial<Present> = {}): Present {
  const ControlPlane = { ...stage, groups: 1, outdated: 3, skewed: 3 };
  const upgrade = { state: "Possible", says: "" } as const;
  return surveyed({ stages: { ControlPlane, Workers: stage }, upgrade, ...differs });
}

export class FakeVersions {
  /** The results of the reads of each NodeVersion, by its name; the last one repeats. */
  readonly looks = new Map<string, VersionSurvey[]>();
  /** The actions in order, each as the name of the NodeVersion and the action, such as "hold". */
  readonly done: string[] = [];
  /** Returns the error with which a step fails, given as in `done`; undefined lets it succeed. */
  failing: (step: string) => Error | undefined = () => undefined;
  /** The promise for which `awaitNodeVersionChanged` waits; by default the wait ends immediately. */
  changed: Promise<void> = Promise.resolve();

  all(): NodeVersionActivities & NodeVersionWaits & DiscoveryActivities {
    const note = (object: ClusterObject, what: string): Promise<void> => {
      const failed = this.failing(`${object.name} ${what}`);
      if (failed) return Promise.reject(failed);
      this.done.push(`${object.name} ${what}`);
      return Promise.resolve();
    };
    return {
      surveyNodeVersion: ({ object: { name } }) => {
        const looks = this.looks.get(name) ?? [];
        const seen = looks.length > 1 ? looks.shift() : looks[0];
        return Promise.resolve(seen ?? { state: "Gone" });
      },
      ensureStageReleased: ({ object, stage, digest }) => note(object, `release ${stage} of ${digest}`),
      ensureReleaseEnded: ({ object }) => note(object, "end release"),
      ensureAutoscalersHeld: ({ object }) => note(object, "hold"),
      ensureAutoscalersLetGo: ({ object }) => note(object, "let go"),
      ensureVersionTold: ({ object, standing: { reason } }) => note(object, `tell ${reason}`),
      // The wait also ends when it is cancelled: otherwise the worker could not stop.
      awaitNodeVersionChanged: () => Promise.race([this.changed, Context.current().cancelled]),
      ensureGroupsDiscovered: () => Promise.resolve({ groups: 2, made: ["a"], removed: [] }),
    };
  }
}

/** NodeVersions as a run sees them, look by look; and what it has done. */
import type {
  ClusterObject,
  DiscoveryActivities,
  NodeVersionActivities,
  NodeVersionWaits,
  VersionSurvey,
} from "../../workflows/contracts/mod.ts";

type Present = Extract<VersionSurvey, { state: "Present" }>;

const stage = { groups: 1, done: 0, outdated: 2, skewed: 0, halted: [], moving: 0 };

/** Two outdated workers, nothing released, no autoscaler. */
export function surveyed(differs: Partial<Present> = {}): Present {
  const none = { ...stage, groups: 0, outdated: 0 };
  return {
    ...{ state: "Present", fingerprint: "f", digest: "d", released: null, trouble: null, says: "2 outdated" },
    ...{ stages: { ControlPlane: none, Workers: stage }, autoscalers: "Off", isHeld: false, isSettled: false },
    ...differs,
  };
}

export class FakeVersions {
  /** What each look sees, by name; the last for ever, and nothing where nothing is told. */
  readonly looks = new Map<string, VersionSurvey[]>();
  /** What was done, as "name what". */
  readonly done: string[] = [];
  /** Ends waits. */
  changed: Promise<void> = Promise.resolve();

  all(): NodeVersionActivities & NodeVersionWaits & DiscoveryActivities {
    const note = (object: ClusterObject, what: string): Promise<void> => {
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
      awaitNodeVersionChanged: () => this.changed,
      ensureGroupsDiscovered: () => Promise.resolve({ groups: 2, made: ["a"], removed: [] }),
    };
  }
}

/** Rules of a pool that no RolloutPolicy selects, and defaults of every field that a policy leaves out. */
import type { Rules } from "../../workflows/contracts/mod.ts";

const minute = 60_000;

/** One machine at a time, no soak, no gates, halted by the first machine that fails for good. */
export const defaultRules: Rules = {
  source: "defaults",
  conflict: null,
  waves: [{ upTo: "100%", soak: 0 }],
  growth: null,
  budget: { machines: 1, perZone: null, zones: "Parallel", cluster: null },
  windows: null,
  join: {
    instance: null,
    address: null,
    registered: null,
    ready: null,
    gates: 10 * minute,
    attempts: null,
  },
  drain: { timeout: null, onBlocked: "Wait", localStorage: "Delete", order: "ByPriority" },
  gates: [],
  onFailure: "Halt",
  maxFailed: 1,
  onProfileChange: "NewMachinesOnly",
  onNewChange: "Supersede",
  approval: "Never",
  repair: { enabled: true, notReadyFor: 10 * minute, conditions: [], maxUnhealthy: 40 },
};

/** A RolloutPolicy as rules: defaults filled in, durations in milliseconds, windows as absolute times. */
import type { Check, Gate, InPlaceRules, RepairRules, Rules, Wave } from "../../workflows/contracts/mod.ts";
import { defaultRules } from "./default_rules.ts";
import { millisecondsOf } from "./duration.ts";
import { etcdOf } from "./etcd_of.ts";
import type { PolicyGate } from "./gate_schema.ts";
import { selectorText } from "../kube/status.ts";
import type { RolloutPolicySpec } from "./rollout_policy.ts";
import { openIntervals } from "./windows.ts";

/** A policy that was read successfully. */
export interface RolloutPolicy {
  name: string;
  namespace: string;
  spec: RolloutPolicySpec;
}

/** Returns the rules of the policy at `now` (epoch ms); only maintenance windows depend on the time. Pure. */
export function rulesOf({ name, namespace, spec }: RolloutPolicy, now: number): Rules {
  const etcd = etcdOf(spec.etcd ?? {}, namespace);
  return {
    ...defaultRules,
    ...given(spec, ["onFailure", "maxFailed", "onProfileChange", "onNewChange", "approval"]),
    source: name,
    waves: spec.waves ? wavesOf(spec.waves) : defaultRules.waves,
    growth: spec.growth ? growthOf(spec.growth) : null,
    budget: {
      ...defaultRules.budget,
      ...given(spec.budget ?? {}, ["machines", "perZone", "zones", "cluster", "urgency"]),
    },
    windows: spec.windows ? openIntervals(spec.windows, now) : null,
    join: joinOf(spec.join ?? {}),
    drain: drainOf(spec.drain ?? {}),
    gates: (spec.gates ?? []).map((gate) => gateOf(gate, namespace)),
    repair: repairOf(spec.repair ?? {}),
    // If a policy leaves the section out, the workflow's own defaults apply, which a newer version of Ostler may
    // change.
    ...(spec.inPlace ? { inPlace: inPlaceOf(spec.inPlace) } : {}),
    ...given(spec, ["onImageChange"]),
    ...(etcd ? { etcd } : {}),
  };
}

type Section<K extends keyof RolloutPolicySpec> = NonNullable<RolloutPolicySpec[K]>;

// Adds a wave of all machines unless the last wave is "100%": another last wave may leave machines out, and the rollout
// would end half done.
function wavesOf(waves: Section<"waves">): Wave[] {
  const told = waves.map(({ upTo, soak = "0s" }) => ({ upTo, soak: millisecondsOf(soak) }));
  return told.at(-1)?.upTo === "100%" ? told : [...told, { upTo: "100%", soak: 0 }];
}

function growthOf({ from = 1, factor = 2, soak = "0s" }: Section<"growth">): Rules["growth"] {
  return { from, factor, soak: millisecondsOf(soak) };
}

function joinOf(join: Section<"join">): Rules["join"] {
  const usual = defaultRules.join;
  return {
    instance: durationOf(join.instance, usual.instance),
    address: durationOf(join.address, usual.address),
    registered: durationOf(join.registered, usual.registered),
    ready: durationOf(join.ready, usual.ready),
    gates: durationOf(join.gates, usual.gates),
    attempts: join.attempts ?? usual.attempts,
  };
}

function drainOf({ timeout, ...drain }: Section<"drain">): Rules["drain"] {
  return {
    ...defaultRules.drain,
    ...given(drain, ["onBlocked", "localStorage", "order"]),
    timeout: durationOf(timeout, defaultRules.drain.timeout),
  };
}

function repairOf({ enabled, notReadyFor, conditions = [], maxUnhealthy }: Section<"repair">): RepairRules {
  const usual = defaultRules.repair;
  const after = durationOf(notReadyFor, usual.notReadyFor);
  return {
    enabled: enabled ?? usual.enabled,
    notReadyFor: after,
    conditions: conditions.map(({ type, status, for: lasting }) => ({
      type,
      status,
      for: durationOf(lasting, after),
    })),
    maxUnhealthy: maxUnhealthy === undefined ? usual.maxUnhealthy : Number.parseInt(maxUnhealthy),
  };
}

function inPlaceOf({ stageAtOnce, ...durations }: Section<"inPlace">): Partial<InPlaceRules> {
  const told = Object.entries(durations).flatMap(([field, text]) => text === undefined ? [] : [[field, text] as const]);
  const times = Object.fromEntries(told.map(([field, text]) => [field, millisecondsOf(text)]));
  return { ...(stageAtOnce === undefined ? {} : { stageAtOnce }), ...times };
}

function gateOf({ name, run = "EachMachine", within = "10m", ...gate }: PolicyGate, namespace: string): Gate {
  return { name, run, within: millisecondsOf(within), check: checkOf(gate, namespace) };
}

function checkOf(gate: Omit<PolicyGate, "name">, own: string): Check {
  const { nodeCondition, daemonSets, pods, prometheus, job } = gate;
  if (nodeCondition) return { kind: "NodeCondition", type: nodeCondition.type, status: nodeCondition.status ?? "True" };
  if (daemonSets) {
    const { namespace = null, selector = {} } = daemonSets;
    return { kind: "DaemonSets", namespace, selector: selectorText(selector) };
  }
  if (pods) {
    const { namespace = own, selector, min = 1 } = pods;
    return { kind: "Pods", namespace, selector: selectorText(selector), min };
  }
  if (prometheus) {
    const { samples = null, minSamples = samples === null ? 0 : 1, ...check } = prometheus;
    return { kind: "Prometheus", ...check, samples, minSamples };
  }
  if (job) return { kind: "Job", namespace: job.namespace ?? own, cronJob: job.cronJob };
  throw new TypeError("Failed to read a gate: it has no check, which its schema should refuse");
}

function durationOf<Absent extends number | null>(text: string | undefined, absent: Absent): number | Absent {
  return text === undefined ? absent : millisecondsOf(text);
}

// Spreading an undefined field would overwrite its default.
function given<T extends object, K extends keyof T>(source: T, fields: K[]): { [F in K]?: NonNullable<T[F]> } {
  return Object.fromEntries(fields.flatMap((field) => source[field] === undefined ? [] : [[field, source[field]]])) as {
    [F in K]?: NonNullable<T[F]>;
  };
}

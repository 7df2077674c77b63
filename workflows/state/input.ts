/** Reads the one argument of a rollout: adds defaults, and refuses unknown or invalid fields by name. */
import { ApplicationFailure, patched, workflowInfo } from "@temporalio/workflow";
import type { CarriedState, Deadlines, PoolRef, RollOutInput } from "../contracts/mod.ts";
import { nodePoolOf, poolOfNodePool } from "../commands/node_pool.ts";
import { groupOfPool, groupsNamespace, poolOf, poolOfGroup, workflowIdOf } from "../commands/start_options.ts";
import { patches } from "../patches.ts";
import { freshLoop } from "./loop.ts";
import { freshMachines } from "./machines.ts";
import { freshMemory } from "./memory.ts";
import { freshPeople } from "./people.ts";
import { freshRecords } from "./records.ts";
import { freshSlots } from "./slots.ts";
import { freshTarget } from "./target.ts";
import { freshWaves } from "./waves.ts";

/** Deadlines in milliseconds. */
type Durations = Record<keyof Deadlines, number>;

/** The fixed settings of a run. */
export interface Settings {
  readonly pool: PoolRef;
  readonly durations: Durations;
  /** How often a machine that does not join is recreated, unless the policy sets a number. */
  readonly attempts: number;
  readonly publishOnly: boolean;
}

export interface ParsedInput extends Settings {
  carried: CarriedState | undefined;
}

/** Default deadlines; a test compares docs/reference/deadlines.md with them. */
const defaultDeadlines: Record<keyof Deadlines, string> = {
  settle: "10m",
  instance: "10m",
  address: "12m",
  registered: "25m",
  ready: "30m",
  drain: "1h",
  gone: "30m",
  recheck: "10m",
};

const defaultAttempts = 2;

const fields = ["cluster", "kind", "namespace", "name", "deadlines", "attempts", "publishOnly", "carried"];

/** Parses the argument, or fails the run with a message that names the field. */
export function parseInput(input: RollOutInput): ParsedInput {
  if (typeof input !== "object" || input === null) refuse("the input", "must be one JSON object");
  refuseUnknown(input, fields, "");
  const pool = poolField(input);
  const expected = workflowIdOf(pool);
  if (workflowInfo().workflowId !== expected) {
    refuse(`workflow ID "${workflowInfo().workflowId}"`, `must be "${expected}" for this input`);
  }
  return {
    pool,
    durations: durations(input.deadlines ?? {}),
    attempts: attempts(input),
    publishOnly: publishOnly(input),
    carried: carried(input),
  };
}

function poolField(input: RollOutInput): PoolRef {
  const { cluster, kind }: { cluster?: unknown; kind?: unknown } = input;
  if (cluster !== undefined && (typeof cluster !== "string" || !/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(cluster))) {
    refuse('field "cluster"', "must be a DNS label");
  }
  const pool = poolOf({ ...input, namespace: nameField(input, "namespace"), name: nameField(input, "name") });
  if (kind === "ScalingGroup" && groupOfPool(pool) === undefined) {
    refuse(
      'field "name"',
      `must be "${poolOfGroup("NAME").name}" in namespace "${groupsNamespace}" for a ScalingGroup`,
    );
  }
  if (kind === "NodePool" && nodePoolOf(pool) === undefined) {
    refuse('field "name"', `must be "${poolOfNodePool("", "NAME").name}" for a NodePool`);
  }
  const isKnown = kind === undefined || ["MachineDeployment", "ScalingGroup", "NodePool"].includes(String(kind));
  if (!isKnown) refuse('field "kind"', 'must be "MachineDeployment", "ScalingGroup" or "NodePool"');
  return pool;
}

function nameField(input: RollOutInput, field: "namespace" | "name"): string {
  const value: unknown = input[field];
  if (typeof value !== "string" || !/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(value)) {
    refuse(`field "${field}"`, "must be a Kubernetes name");
  }
  return value;
}

function attempts(input: RollOutInput): number {
  const value: unknown = input.attempts ?? defaultAttempts;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1 || value > 10) {
    refuse('field "attempts"', "must be an integer from 1 to 10");
  }
  return value;
}

function publishOnly(input: RollOutInput): boolean {
  const value: unknown = input.publishOnly ?? false;
  if (typeof value !== "boolean") refuse('field "publishOnly"', "must be true or false");
  return value;
}

function carried(input: RollOutInput): CarriedState | undefined {
  const value: unknown = input.carried;
  if (value === undefined) return undefined;
  if (typeof value !== "object" || value === null) {
    refuse('field "carried"', "must be absent, because only continue-as-new writes it");
  }
  const state = readCarried(value, Date.now());
  // Version 0.1.0 did not carry the stamp, so a replay of its histories must decide without the stamp.
  if (typeof state.target.stamped === "string" && !patched(patches.carriedStamp)) state.target.stamped = false;
  return state;
}

function durations(given: Partial<Deadlines>): Durations {
  if (typeof given !== "object" || given === null) refuse('field "deadlines"', "must be an object");
  refuseUnknown(given, Object.keys(defaultDeadlines), "deadlines.");
  const merged = { ...defaultDeadlines, ...given };
  const pairs = Object.entries(merged).map(([name, value]) => [name, milliseconds(name, value)]);
  return Object.fromEntries(pairs) as Durations;
}

function milliseconds(name: string, value: unknown): number {
  const number = typeof value === "number" ? value : tryDuration(value);
  if (!Number.isFinite(number) || number <= 0) {
    refuse(`field "deadlines.${name}"`, 'must be a number of milliseconds above 0 or a duration such as "15m"');
  }
  return number;
}

const units: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

function tryDuration(value: unknown): number {
  const [, amount, unit] = /^(\d+(?:\.\d+)?)(ms|s|m|h|d)$/.exec(String(value)) ?? [];
  return Number(amount) * (units[unit ?? ""] ?? NaN);
}

function refuseUnknown(given: object, known: readonly string[], prefix: string): void {
  const unknown = Object.keys(given).find((key) => !known.includes(key));
  if (unknown !== undefined) refuse(`field "${prefix}${unknown}"`, `is unknown; known fields are ${known.join(", ")}`);
}

function refuse(what: string, state: string): never {
  throw ApplicationFailure.nonRetryable(`Cannot start the rollout: ${what} ${state}`, "InvalidInput");
}

// Reads and writes the state that one run of a chain carries to the next, also across versions.

/** Returns the state of the first run of a chain; its fields are those that are carried. */
export function freshState(now: number): CarriedState {
  return {
    schemaVersion: 1,
    target: freshTarget(now),
    people: freshPeople(),
    waves: freshWaves(),
    machines: freshMachines(),
    records: freshRecords(),
    slots: freshSlots(),
    memory: freshMemory(),
    loop: freshLoop(),
  };
}

/** Returns the groups and fields of a rollout that the next run of the chain needs. */
export function carriedState(groups: Omit<CarriedState, "schemaVersion">): CarriedState {
  const { schemaVersion, ...fresh } = freshState(0);
  const picked = Object.entries(fresh).map(([group, fields]) => {
    const all = Object.entries(groups[group as keyof typeof fresh]);
    return [group, Object.fromEntries(all.filter(([field]) => field in fields))];
  });
  return { schemaVersion, ...Object.fromEntries(picked) } as CarriedState;
}

/**
 * Reads the state carried by a run of any version. A missing field gets its initial value, and an unknown field is
 * dropped. So a chain continues under a newer version and under the previous one, and never ends because of its own
 * state.
 */
export function readCarried(given: object, now: number): CarriedState {
  const fresh = freshState(now);
  return { ...filled(fresh, given), schemaVersion: fresh.schemaVersion };
}

// Completes the state that a run of another version passed on. The initial state defines which fields there are, and
// what kind of value each has.

/**
 * Returns the fields of `fresh`, each from `given` if that has a value of the same kind. An empty object in `fresh`
 * stands for a record, whose entries are taken unchanged, and null for any value.
 */
function filled<Value>(fresh: Value, given: unknown): Value {
  if (given === undefined || (given === null && fresh !== null)) return fresh;
  if (fresh === null) return given as Value;
  if (Array.isArray(fresh)) return Array.isArray(given) ? given as Value : fresh;
  if (!isRecord(fresh)) return typeof given === typeof fresh ? given as Value : fresh;
  if (!isRecord(given)) return fresh;
  const known = Object.entries(fresh);
  if (known.length === 0) return given as Value;
  return Object.fromEntries(known.map(([field, value]) => [field, filled(value, given[field])])) as Value;
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Carried state of schema version 2, in which all fields stood side by side. */

type Fields = Record<string, unknown>;

/** The same by groups; a field that it lacks is undefined. */
export function fromVersion2(given: object): Fields {
  const flat = given as Fields;
  const remembered = (flat["memory"] ?? {}) as Fields;
  return {
    target: pick(flat, ["change", "startedAt", "startedFor", "begun"]),
    people: {
      paused: remembered["paused"],
      ...pick(flat, ["abortAsked", "skipped", "approvedPlan", "approvedHash", "retriedAt"]),
    },
    waves: { current: flat["wave"], ...pick(flat, ["countedBy", "rolled"]) },
    machines: {
      failures: flat["failedMachines"],
      ...pick(flat, ["booting", "dropped", "draining", "setAside", "repaired", "failed", "retries"]),
    },
    records: pick(flat, ["joins", "replacements", "replaced"]),
    slots: { held: flat["slots"] },
    memory: {
      recalled: flat["memory"] !== undefined, // it was carried only then
      lastRollback: remembered["left"],
      rollback: flat["rollBack"],
      ...pick(remembered, ["quarantine", "lastGood", "usual"]),
    },
  };
}

function pick(fields: Fields, names: readonly string[]): Fields {
  return Object.fromEntries(names.map((name) => [name, fields[name]]));
}

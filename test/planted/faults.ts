/** Faults that are planted one at a time, each with the test that has to catch it. */

export interface Fault {
  /** The promise that the fault breaks, and how. */
  name: string;
  /** The file to change: the text `from`, which it has exactly once, is replaced by `to`. */
  file: string;
  from: string;
  to: string;
  caughtBy: CatchingTest;
}

/**
 * The test that has to catch the fault: a test file, or with `filter` the tests of that file whose names contain it.
 */
export interface CatchingTest {
  file: string;
  filter?: string;
}

/** Faults in how many machines are out of service, and when. */
const pacing: Fault[] = [
  {
    name: "budget: one machine more than the budget allows is replaced at the same time",
    file: "workflows/policy/budget.ts",
    from: "return (victim.ill ? changing : changing + ill) < total;",
    to: "return (victim.ill ? changing : changing + ill) <= total;",
    caughtBy: {
      file: "test/workflow/budget_test.ts",
      filter: "budget: replaces one by one with a budget of 1 and a larger surge",
    },
  },
  {
    name: "window: replacements begin outside the windows",
    file: "workflows/policy/blocks.ts",
    from: "blocks.push(windowBlock(situation), approvalBlock(situation, wave), soakBlock(wave));",
    to: "blocks.push(approvalBlock(situation, wave), soakBlock(wave));",
    caughtBy: { file: "test/unit/workflows/policy/blocks_test.ts", filter: "planTurn: is blocked by OutsideWindow" },
  },
  {
    name: "pause: missing machines are added while the rollout is paused",
    file: "workflows/policy/blocks.ts",
    from: "return paused || (quarantined && !rollingBack);",
    to: "return quarantined && !rollingBack;",
    caughtBy: {
      file: "test/unit/workflows/policy/blocks_test.ts",
      filter: "planTurn: does not add a missing machine",
    },
  },
  {
    name: "soak: the next wave begins at once",
    file: "workflows/policy/waves.ts",
    from: "const soakUntil = state.soakUntil ?? now + target.soak;",
    to: "const soakUntil = state.soakUntil ?? now;",
    caughtBy: {
      file: "test/unit/workflows/policy/waves_test.ts",
      filter: "planTurn: begins the soak when the wave is updated",
    },
  },
  {
    name: "FleetLock: two nodes hold the lock at once",
    file: "workflows/policy/updates.ts",
    from: "left = withVictim(left, machine);",
    to: "",
    caughtBy: {
      file: "test/workflow/fleet_lock_test.ts",
      filter: "FleetLock: two nodes that ask at the same time reboot one after the other",
    },
  },
];

/** Faults in the steps of single machines. */
const machines: Fault[] = [
  {
    name: "order: the newest machine is replaced first",
    file: "workflows/policy/order.ts",
    from: "const victim = from.find((each) => !taken.has(each.id) && fits(each));",
    to: "const victim = from.findLast((each) => !taken.has(each.id) && fits(each));",
    caughtBy: {
      file: "test/unit/workflows/policy/plan_turn_test.ts",
      filter: "planTurn: chooses a machine of the oldest template",
    },
  },
  {
    name: "readiness: a machine is removed before enough others are Ready",
    file: "workflows/policy/departures.ts",
    from: "return situation.supplier.isEnoughReady(viewOf(situation));",
    to: "return true;",
    caughtBy: {
      file: "test/unit/workflows/policy/plan_turn_test.ts",
      filter: "planTurn: drains no machine while an old machine is not Ready",
    },
  },
  {
    name: "drain: a machine is removed without a drain",
    file: "workflows/machine/remove_machine.ts",
    from: 'if (await drain(work, victim.node) === "SetAside") return { is: "Unchanged" };',
    to: "",
    caughtBy: {
      file: "test/workflow/rolling_test.ts",
      filter: "runs the steps of one replacement in order",
    },
  },
  {
    name: "outage: time without an answer of the API server counts against a join",
    file: "workflows/machine/join_machine.ts",
    from: 'work.note({ is: "Delayed", ms: verdict.unseenMs });',
    to: "",
    caughtBy: {
      file: "test/workflow/trouble_test.ts",
      filter: "does not count a time without reads of the API towards the deadline of a machine",
    },
  },
  {
    name: "attempts: a machine is recreated once more than the policy allows",
    file: "workflows/machine/join_machine.ts",
    from: "const isLast = attempt > allowed;",
    to: "const isLast = attempt > allowed + 1;",
    caughtBy: {
      file: "test/workflow/roll_back_test.ts",
      filter: "join.attempts: is how often a machine is recreated",
    },
  },
  {
    name: "gates: a failed gate counts as passed",
    file: "workflows/machine/gates.ts",
    from: 'return failed && `gate "${failed.gate}" failed: ${failed.message}`;',
    to: "return failed && undefined;",
    caughtBy: {
      file: "test/workflow/gates_test.ts",
      filter: "gates: a machine that fails a gate is recreated, and the rollout continues",
    },
  },
  {
    name: "gates: a gate that could not be measured counts as failed",
    file: "activities/gates/asked_gate.ts",
    from: 'return verdict("Inconclusive", last.message);',
    to: 'return verdict(isOver ? "Failed" : "Inconclusive", last.message);',
    caughtBy: {
      file: "test/unit/activities/gates/await_gates_test.ts",
      filter:
        "awaitGates: at the deadline, fails a gate whose last measurement was false, and is Inconclusive for a gate without a measurement",
    },
  },
  {
    name: "in place: a Ready node counts as updated, whatever it booted",
    file: "activities/backends/node_pool/update_steps.ts",
    from: "if (status.booted === digest) return",
    to: "if (digest) return",
    caughtBy: {
      file: "test/workflow/in_place_verdicts_test.ts",
      filter: "A4 verdicts: a node that boots the old digest is RolledBack",
    },
  },
];

/** Faults in marks, holds and cordons of machines, and in the fields that a rollout may edit. */
const marks: Fault[] = [
  {
    name: "abort: machines keep marks and holds",
    file: "workflows/steps/endings.ts",
    from: "await releaseAll(rollout);\n  await giveBackSlots(rollout, true);\n  const message = `Aborted",
    to: "await giveBackSlots(rollout, true);\n  const message = `Aborted",
    caughtBy: {
      file: "test/workflow/abort_test.ts",
      filter: "abort: removes the marks and holds of machines even if no template was ever good",
    },
  },
  {
    name: "cancelled replacement: the node stays cordoned",
    file: "activities/backends/machine_controller/holds.ts",
    from: "if (node && isOwn) await ensureNodeUncordoned(kube, { pool: target.pool, node });",
    to: "",
    caughtBy: {
      file: "test/unit/activities/backends/machine_controller/holds_test.ts",
      filter: "spareMachine: uncordons a node that Ostler cordoned",
    },
  },
  {
    name: "cancelled replacement: the machine keeps its hold",
    file: "activities/backends/machine_controller/holds.ts",
    from: "ours(machine, target.pool, [victimAnnotation, holdAnnotation])",
    to: "ours(machine, target.pool, [victimAnnotation])",
    caughtBy: {
      file: "test/unit/activities/backends/machine_controller/holds_test.ts",
      filter: "spareMachine: removes hold and mark, and succeeds for a deleted machine",
    },
  },
  {
    name: "cancelled replacement: the machine keeps its delete-machine annotation",
    file: "activities/backends/machine_controller/holds.ts",
    from: "ours(machine, target.pool, [victimAnnotation, holdAnnotation])",
    to: "ours(machine, target.pool, [holdAnnotation])",
    caughtBy: {
      file: "test/unit/activities/backends/machine_controller/holds_test.ts",
      filter: "spareMachine: removes hold and mark",
    },
  },
  {
    name: "holds: the hold of another controller is removed",
    file: "activities/backends/machine_controller/holds.ts",
    from: "keys.filter((key) => isOwnHold(pool, machine.metadata.annotations?.[key]));",
    to: "keys.filter((key) => machine.metadata.annotations?.[key] !== undefined);",
    caughtBy: {
      file: "test/unit/activities/backends/machine_controller/holds_test.ts",
      filter: "admitMachine: removes only Ostler's hold",
    },
  },
  {
    name: "GitOps: pacing edits a spec",
    file: "activities/backends/machine_controller/holds.ts",
    from: "await ifFound(patchObject(kube, machines, { ...nameOf(target), body: { metadata: { annotations } } }));",
    to:
      "await ifFound(patchObject(kube, machines, { ...nameOf(target), body: { metadata: { annotations }, spec: { taints: [] } } }));",
    caughtBy: {
      file: "test/unit/activities/backends/machine_controller/holds_test.ts",
      filter: "edits only annotations, so that GitOps tools see no drift",
    },
  },
];

/** Faults in the choice of the change that is rolled out. */
const changes: Fault[] = [
  {
    name: "rollback: a change that failed is rolled out again",
    file: "workflows/state/quarantine.ts",
    from: "return isBad(memory, target.desired?.specHash);",
    to: "return false;",
    caughtBy: {
      file: "test/workflow/roll_back_test.ts",
      filter: "onFailure: a failed change is held when it is applied again",
    },
  },
  {
    name: "rollback: the bad template is restored",
    file: "activities/backends/machine_controller/last_good.ts",
    from: "? unlabelled(template)",
    to: "? unlabelled(deployment.spec.template ?? {})",
    caughtBy: {
      file: "test/unit/activities/backends/machine_controller/last_good_test.ts",
      filter:
        "restoreLastGood: restores the whole template of the last good MachineSet, without the label that machine-controller adds",
    },
  },
  {
    name: "superseding: a superseded generation is published over a newer one",
    file: "activities/config/publish_config.ts",
    from: "if (now !== revision || rendered.digest !== (configDigest ?? rendered.digest)) {",
    to: "if (rendered.digest !== (configDigest ?? rendered.digest)) {",
    caughtBy: {
      file: "test/unit/activities/config/publish_config_test.ts",
      filter: "publishConfig: writes nothing for a revision that the MachineDeployment no longer has",
    },
  },
];

/** Faults in what machines boot with. */
const publishing: Fault[] = [
  {
    name: "publishing: the bootstrap secret is written before the secrets that it announces",
    file: "activities/config/publish_config.ts",
    from: `  const write = (place: Standing, key: string, text: string): Promise<Written> =>
    writeSecret(kube, place, { key, text, annotations: stamp.secret });`,
    to: `  const put = (place: Standing, key: string, text: string): Promise<Written> =>
    writeSecret(kube, place, { key, text, annotations: stamp.secret });
  const fence = await put(bootstrap, userDataKey, texts.bootstrap);
  const write = (place: Standing, key: string, text: string): Promise<Written> =>
    place === bootstrap ? Promise.resolve(fence) : put(place, key, text);`,
    caughtBy: { file: "test/unit/activities/config/publish_config_test.ts", filter: "the bootstrap Secret last" },
  },
  {
    name: "publishing: a secret is missing for a moment when its revision changes",
    file: "activities/config/artefacts.ts",
    from: "if (!found.isImmutable) {",
    to: "if (!found) {",
    caughtBy: {
      file: "test/unit/activities/config/publish_config_test.ts",
      filter: "replaces each secret in one update when the revision changes",
    },
  },
  {
    name: "secrecy: an error quotes the bootstrap token, so that logs, Events and status contain it",
    file: "activities/config/artefacts.ts",
    from: "the stored data differs from the written data`);",
    to: "the stored data differs from the written data: ${text}`);",
    caughtBy: {
      file: "test/unit/activities/config/secrecy_test.ts",
      filter:
        "shows no secret when the stored data of Secret fleet-pool-kubelet-bootstrap-config differs from the written data",
    },
  },
  {
    name: "secrecy: a refusal of the API server is quoted with what was sent",
    file: "activities/kube/status.ts",
    from: "const isQuotable = status === 403 || status === 404 || isUnconfigured(error, status);",
    to: "const isQuotable = true;",
    caughtBy: {
      file: "test/unit/activities/config/secrecy_test.ts",
      filter: "publishConfig: shows no secret that the API server repeats in a refusal",
    },
  },
];

/** Faults in permissions and admission. */
const admission: Fault[] = [
  {
    name: "images: the signature of another key admits an image",
    file: "activities/os_image/keys.ts",
    from: "return keys.find(({ key }) => signatures.some((signature) => isBy(key, bytes, signature)));",
    to: "return keys.find(() => signatures.some((signature) => signature.length > 0));",
    caughtBy: {
      file: "test/unit/activities/os_image/verify_image_test.ts",
      filter: "A15 verifyImage: refuses an image whose only signature is of another key",
    },
  },
  {
    name: "webhook: an invalid profile is admitted",
    file: "workers/admission/admit_profile.ts",
    from: "return faults.length > 0 ? denied(faults, warnings) : { warnings };",
    to: "return { warnings: [...faults, ...warnings] };",
    caughtBy: {
      file: "test/unit/workers/admission/admit_profile_test.ts",
      filter: "admitProfile: denies a failing template once, naming file and a provider",
    },
  },
];

/** Faults in the rollouts of scaling groups and control planes. */
const groups: Fault[] = [
  {
    name: "scaling group: a second order is given for one machine",
    file: "activities/backends/scaling_group/orders.ts",
    from: "...{ group: groupId, token: order.id, journal: journalOf(kube, order) },",
    to: "...{ group: groupId, token: `${order.id}-${crypto.randomUUID()}`, journal: journalOf(kube, order) },",
    caughtBy: {
      file: "test/unit/activities/backends/scaling_group/conformance_test.ts",
      filter: "admit has the same result when it is retried after an interruption",
    },
  },
  {
    name: "scaling group: a token that was used is given again",
    file: "activities/backends/scaling_group/orders.ts",
    from: "if (number === undefined || !taken(unusedNumbers(asked, seen.instances), number)) {",
    to: "if (number === undefined) {",
    caughtBy: {
      file: "test/unit/activities/backends/scaling_group/papers_test.ts",
      filter: "numbers: an order with a used number fails as MachineGone, and does not reach the cloud",
    },
  },
  {
    name: "scaling group: the record is written after the order",
    file: "activities/backends/scaling_group/orders.ts",
    from: "return orderOf(await createRecord(kube, body, machine));",
    to: `await (await kube.cloud.driver()).order({ group: spec.groupId, token: machine });
  return orderOf(await createRecord(kube, body, machine));`,
    caughtBy: {
      file: "test/unit/activities/backends/scaling_group/conformance_test.ts",
      filter: "admit has the same result when it is retried after an interruption",
    },
  },
  {
    name: "control plane: the next replacement begins while an etcd member does not vote",
    file: "workflows/policy/blocks.ts",
    from: "    etcdBlock(situation),\n",
    to: "",
    caughtBy: {
      file: "test/unit/workflows/policy/etcd_test.ts",
      filter: "K27 planTurn: admits and drains no control plane while etcd has a problem",
    },
  },
  {
    name: "control plane: the instance is removed before its etcd member",
    file: "activities/backends/scaling_group/removals.ts",
    from: `    if (instance) await leaveEtcd(kube, seen, instance);
  }
  if (instance) await ensureGroupNamed(kube, seen, { instance, groupId });
  return await driver.remove({ group: groupId, providerId, shrinks });`,
    to: `  }
  const state = await driver.remove({ group: groupId, providerId, shrinks });
  if (isOfControlPlane(asked, seen) && instance) await leaveEtcd(kube, seen, instance);
  return state;`,
    caughtBy: {
      file: "test/unit/activities/backends/scaling_group/control_plane_test.ts",
      filter: "release: removes the member from etcd before it calls the cloud",
    },
  },
];

/** All faults. */
export const faults: readonly Fault[] = [
  ...pacing,
  ...machines,
  ...marks,
  ...changes,
  ...publishing,
  ...admission,
  ...groups,
];

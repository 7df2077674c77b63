// deno-lint-ignore-file no-console -- this program prints its records
/** Records the histories that this release lacks, from workflows over pools in memory; the replay tests use them. */
import { existsSync } from "node:fs";
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import manifest from "../../package.json" with { type: "json" };
import { plainHistory } from "./plain_history.ts";
import { controlPlanes } from "./record_control_planes.ts";
import { nodePools } from "./record_node_pools.ts";
import { patched } from "./record_patched.ts";
import { certificates, upgrades } from "./record_upgrades.ts";
import { readConfig } from "../../workers/config.ts";
import { startNotice } from "../../workers/notices/tell_notices.ts";
import { noticeIdOf } from "../../workflows/commands/start_options.ts";
import type { CarriedState } from "../../workflows/contracts/mod.ts";
import { eventually } from "../support/eventually.ts";
import { failure } from "../support/fake_failure.ts";
import { FakeUpgrade } from "../support/fake_upgrade.ts";
import { type FakePool, protectedPod } from "../support/fake_pool.ts";
import { controlPlaneFirst, surveyed, upgradeFirst } from "../support/fake_versions.ts";
import { recall } from "../support/fake_rollout.ts";
import { resolved } from "../support/fake_images.ts";
import { budgetOf, gateOf } from "../support/pool_checks.ts";
import { Stage, testDeadlines } from "../support/workflow_stage.ts";
import type { Handle } from "../support/workflow_stage.ts";

/** The release of these histories; one set per release is kept, and none is ever rewritten. */
const { version: release } = manifest;

const root = fileURLToPath(new URL("./histories/", import.meta.url));

const shortLadder = { ...testDeadlines, instance: 800, address: 800, registered: 800, ready: 800 };

/** Starts a run, brings it to a point from which it ends without further input, and returns it. */
type Story = (stage: Stage) => Promise<Handle>;

/** Starts a rollout whose first new machine does not join before the story fixes it. */
async function whileJoining(stage: Stage): Promise<{ pool: FakePool; handle: Handle }> {
  const pool = await stage.grownPool();
  pool.fate = (_, image) => image === "image-2" ? "registered" : "joins";
  pool.change({ image: "image-2" });
  const handle = await stage.rollOut(pool);
  await eventually("a join under way", () => pool.count("awaitMachinesJoined") === 1);
  return { pool, handle };
}

const rollouts: Record<string, Story> = {
  "creation": async (stage) => await stage.rollOut(stage.pool()),
  "published_without_machines": async (stage) => await stage.rollOut(stage.pool({ replicas: 0 })),
  "rolling": async (stage) => {
    const pool = await stage.grownPool();
    pool.change({ image: "image-2", kubelet: "1.36.1" });
    return await stage.rollOut(pool);
  },
  "machines_kept": async (stage) => {
    const pool = await stage.grownPool({ rules: { onImageChange: "InPlace" } });
    pool.keeping = () => {
      pool.change({ image: "image-1" });
      return { outcome: "Kept" };
    };
    pool.change({ image: "image-2" });
    return await stage.rollOut(pool);
  },
  "superseded_while_joining": async (stage) => {
    const { pool, handle } = await whileJoining(stage);
    pool.change({ image: "image-3" });
    pool.mend();
    await stage.tell(pool);
    return handle;
  },
  "join_failed_halted_retried": async (stage) => {
    const pool = await stage.grownPool();
    pool.fate = () => "address";
    pool.change({ image: "image-2" });
    pool.rules.join.attempts = 1;
    const handle = await stage.rollOut(pool, { deadlines: shortLadder });
    await stage.stands(handle, "Halted", "Quarantined");
    pool.mend();
    await handle.executeUpdate("retry", { args: [{ by: "somebody" }] });
    return handle;
  },
  "drain_blocked_paused_resumed": async (stage) => {
    const pool = await stage.grownPool({ replicas: 2 });
    pool.isDrainBlocked = true;
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool, { deadlines: { ...testDeadlines, drain: 100 } });
    await eventually("a block", () => pool.reports.some(({ blockedReason }) => blockedReason === "PodsRemaining"));
    await handle.executeUpdate("pause", { args: [{ by: "somebody", reason: "incident" }] });
    pool.unblock();
    await stage.stands(handle, "Rolling", "Paused");
    await handle.signal("resumeRequested", {});
    return handle;
  },
  "three_at_a_time": async (stage) => {
    const pool = await stage.grownPool({ replicas: 6, surge: 3, rules: { budget: budgetOf(3, { cluster: 5 }) } });
    pool.change({ image: "image-2" });
    return await stage.rollOut(pool);
  },
  "waves_approved_gated_promoted": async (stage) => {
    const waves = [{ upTo: 1, soak: 3_600_000 }, { upTo: "100%", soak: 0 }];
    const gates = [gateOf("EachMachine"), { ...gateOf("EachWave"), name: "load" }];
    const pool = await stage.grownPool({ rules: { waves, gates, approval: "BeforeFirst" } });
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    const { plan } = await stage.stands(handle, "Rolling", "AwaitingApproval");
    await stage.ask(pool, "approve", { by: "somebody", plan: plan?.hash ?? "" });
    await stage.stands(handle, "Rolling", "Soaking");
    await stage.ask(pool, "promote");
    return handle;
  },
  "gate_failed_rolled_back": async (stage) => {
    const waves = [{ upTo: 2, soak: 0 }, { upTo: "100%", soak: 0 }];
    const pool = await stage.grownPool({ rules: { waves, gates: [gateOf("EachWave")], onFailure: "Rollback" } });
    pool.verdict = () => "Failed";
    pool.change({ image: "image-2" });
    return await stage.rollOut(pool);
  },
  "aborted_while_joining": async (stage) => {
    const { pool, handle } = await whileJoining(stage);
    await stage.ask(pool, "abort", { by: "somebody", reason: "incident" });
    return handle;
  },
  "blocked_drain_set_aside_forced": async (stage) => {
    const drain = { timeout: 200, onBlocked: "SetAside", localStorage: "Delete", order: "ByPriority" } as const;
    const pool = await stage.grownPool({ surge: 2, rules: { drain: { ...drain }, budget: budgetOf(2) } });
    pool.blockers[pool.nth(1)] = [protectedPod];
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    await stage.stands(handle, "Halted", "SetAside");
    pool.rules.drain.onBlocked = "Force";
    await stage.tell(pool);
    await stage.ask(pool, "retry");
    return handle;
  },
  "profile_rolled_scaled_meanwhile": async (stage) => {
    const pool = await stage.grownPool({ rules: { onProfileChange: "Roll" } });
    pool.profileVersion = 2;
    const handle = await stage.rollOut(pool);
    await eventually("an admission", () => pool.count("ensureMachineAdmitted") === 1);
    pool.change({ replicas: 5 });
    await stage.tell(pool);
    return handle;
  },
  "carried_on_paused_resumed": async (stage) => {
    const { pool, handle: first } = await whileJoining(stage);
    const joining = pool.subjects("ensureMachineAdmitted").at(-1) ?? "";
    await first.terminate("another run goes on");
    const paused = { by: "somebody", reason: "incident", since: Date.now() };
    const { paused: _, ...memory } = recall(pool);
    const carried = {
      ...{ schemaVersion: 1, people: { paused }, memory: { ...memory, recalled: true } },
      machines: { booting: { [joining]: { since: Date.now(), attempt: 0 } } },
    };
    const handle = await stage.rollOut(pool, { carried: carried as unknown as CarriedState });
    await eventually("the next run to wait for the join", () => pool.count("awaitMachinesJoined") === 2);
    pool.mend();
    await stage.stands(handle, "Rolling", "Paused");
    await stage.ask(pool, "resume");
    return handle;
  },
  "outage_while_draining": async (stage) => {
    const pool = await stage.grownPool();
    let isAway = true;
    pool.before["awaitNodeDrained"] = () => {
      if (isAway) throw failure("ApiUnavailable", "Failed to reach the API: connection refused");
    };
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    await stage.stands(handle, "Rolling", "Unreachable");
    isAway = false;
    return handle;
  },
  "renewed_only": async (stage) => await stage.rollOut(await stage.grownPool(), { publishOnly: true }),
  "gone": async (stage) => {
    const { pool, handle } = await whileJoining(stage);
    pool.state = "Gone";
    await stage.tell(pool);
    return handle;
  },
  "repaired": async (stage) => {
    const pool = await stage.grownPool();
    pool.sicken(2);
    return await stage.rollOut(pool);
  },
  ...controlPlanes,
  ...patched,
  "cancelled": async (stage) => {
    const { handle } = await whileJoining(stage);
    await handle.cancel();
    return handle;
  },
  "deleted_while_draining": async (stage) => {
    const pool = await stage.grownPool();
    pool.isDrainBlocked = true;
    pool.change({ image: "image-2" });
    const handle = await stage.rollOut(pool);
    await eventually("a drain under way", () => pool.count("awaitNodeDrained") === 1);
    pool.remove();
    await stage.tell(pool);
    return handle;
  },
};

const renewals: Record<string, Story> = {
  "one_started_one_told": async (stage) => {
    const [idle, busy] = [await stage.grownPool(), await stage.grownPool()];
    busy.fate = () => "registered";
    busy.change({ image: "image-2" });
    const rollout = await stage.rollOut(busy);
    await eventually("a join under way", () => busy.count("awaitMachinesJoined") === 1);
    idle.renewAt = busy.renewAt = 0;
    const options = { workflowId: "renew-credentials", taskQueue: "ostler", args: [{}] };
    const handle = await stage.client.workflow.start("renewCredentials", options);
    await handle.result();
    await rollout.cancel();
    return handle as unknown as Handle;
  },
  "one_at_rest_one_changed_since": async (stage) => {
    const [idle, changed] = [await stage.grownPool(), await stage.grownPool()];
    changed.change({ image: "image-2" });
    idle.renewAt = changed.renewAt = 0;
    stage.activities.tellsRest = true;
    const options = { workflowId: "renew-at-rest", taskQueue: "ostler", args: [{}] };
    const handle = await stage.client.workflow.start("renewCredentials", options);
    await handle.result();
    stage.activities.tellsRest = false;
    return handle as unknown as Handle;
  },
};

const joining: Record<string, Story> = {
  "annotated": async (stage) => {
    stage.activities.joining.set("w", [{ outcome: "Annotated", node: "w", components: "k8s-components-2" }]);
    const options = { workflowId: "joining-node/w", taskQueue: "ostler", args: [{ name: "w" }] };
    return await stage.client.workflow.start("admitJoiningNode", options) as unknown as Handle;
  },
};

const autoscalers: Record<string, Story> = {
  "changed_while_it_was_kept": async (stage) => {
    const kept = { outcome: "Kept", reason: "Kept", says: "it has 1 replicas" } as const;
    const [workflowId, object] = ["autoscaling-strategy/a", { name: "a" }];
    stage.activities.autoscalers.set("a", [kept, kept]);
    const first = Promise.withResolvers<void>();
    stage.activities.whileKept = () => first.promise;
    const options = { workflowId, taskQueue: "ostler", args: [object] };
    const handle = await stage.client.workflow.start("keepAutoscaler", options);
    await handle.signal("autoscalingChanged");
    first.resolve();
    await handle.result();
    stage.activities.whileKept = () => Promise.resolve();
    return handle as unknown as Handle;
  },
};

const versions: Record<string, Story> = {
  "control_plane_first": async (stage) => {
    stage.activities.versions.looks.set("cp", controlPlaneFirst());
    const options = { workflowId: "node-version/cp", taskQueue: "ostler", args: [{ name: "cp" }] };
    return await stage.client.workflow.start("rollOutNodeVersion", options) as unknown as Handle;
  },
  "kubernetes_first": async (stage) => {
    const { versions } = stage.activities;
    const upgrade = new FakeUpgrade().on(stage);
    const { name } = upgrade;
    versions.looks.set(name, [upgradeFirst()]);
    // Until the upgrade ends, the run waits for a change of the NodeVersion; the next survey then shows the end of the
    // upgrade.
    versions.changed = new Promise(() => {});
    upgrade.before = (effect) => {
      if (effect === "announce b") versions.looks.set(name, [...controlPlaneFirst().slice(2)]);
      if (effect === "free b") versions.changed = Promise.resolve();
    };
    const options = { workflowId: `node-version/${name}`, taskQueue: "ostler", args: [{ name }] };
    return await stage.client.workflow.start("rollOutNodeVersion", options) as unknown as Handle;
  },
  "let_go_at_rest_release_ended": async (stage) => {
    const rolling = { isHeld: true, autoscalers: "Off", released: "Workers" } as const;
    const resting = {
      groups: 1,
      done: 0,
      atRest: 1,
      outdated: 2,
      skewed: 0,
      moving: 0,
      halted: ['group "a" is halted'],
      ...{ unannounced: 0, waiting: [] },
    };
    const { ControlPlane } = surveyed().stages;
    stage.activities.versions.looks.set("rests", [
      ...[surveyed({ autoscalers: "On" }), surveyed({ isHeld: true }), surveyed(rolling)],
      ...[surveyed({ ...rolling, stages: { ControlPlane, Workers: resting } }), surveyed(rolling)],
      ...[
        surveyed({ ...rolling, isSettled: true }),
        surveyed({ isHeld: true, isSettled: true }),
        surveyed({ isSettled: true }),
      ],
    ]);
    const options = { workflowId: "node-version/rests", taskQueue: "ostler", args: [{ name: "rests" }] };
    return await stage.client.workflow.start("rollOutNodeVersion", options) as unknown as Handle;
  },
  "held_released_let_go": async (stage) => {
    const held = { isHeld: true, autoscalers: "Off" } as const;
    stage.activities.versions.looks.set("v", [
      ...[surveyed({ autoscalers: "On" }), surveyed(held), surveyed({ ...held, released: "Workers" })],
      ...[surveyed({ ...held, released: "Workers", isSettled: true }), surveyed({ isSettled: true, says: "All 2" })],
    ]);
    const options = { workflowId: "node-version/v", taskQueue: "ostler", args: [{ name: "v" }] };
    return await stage.client.workflow.start("rollOutNodeVersion", options) as unknown as Handle;
  },
};

const discoveries: Record<string, Story> = {
  "found": async (stage) => {
    const options = { workflowId: "discover-scaling-groups", taskQueue: "ostler", args: [{}] };
    return await stage.client.workflow.start("discoverScalingGroups", options) as unknown as Handle;
  },
};

const plans: Record<string, Story> = {
  "planned": async (stage) => {
    const pool = await stage.grownPool();
    pool.change({ image: "image-2" });
    const options = { workflowId: "plan/pool", taskQueue: "ostler", args: [pool.ref] };
    return await stage.client.workflow.start("planPool", options) as unknown as Handle;
  },
};

const images: Record<string, Story> = {
  "accepted": async (stage) => {
    const image = resolved();
    stage.activities.images.looks.set("i", [{ outcome: "Resolved", image }]);
    const evidence = { signedBy: `sha256:${"a".repeat(64)}`, signed: image.digest };
    stage.activities.images.verdicts.set("i", [{ outcome: "Verified", evidence }]);
    const options = { workflowId: "os-image/i", taskQueue: "ostler", args: [{ name: "i" }] };
    return await stage.client.workflow.start("admitImage", options) as unknown as Handle;
  },
  "refused": async (stage) => {
    const [reason, message] = ["NotFound" as const, "The registry has no such tag"];
    stage.activities.images.looks.set("r", [{ outcome: "Refused", generation: 3, reason, message }]);
    const options = { workflowId: "os-image/r", taskQueue: "ostler", args: [{ name: "r" }] };
    return await stage.client.workflow.start("admitImage", options) as unknown as Handle;
  },
};

const notices: Record<string, Story> = {
  "told_two": async (stage) => {
    const notice = { id: "n", kind: "Halted", at: "2026-01-01T10:00:00Z", reason: "GateFailed", message: "m" } as const;
    const both = readConfig({ OSTLER_NOTIFY_WEBHOOK_FILE: "/w", OSTLER_NOTIFY_EVENTS_FILE: "/e" });
    const pool = { namespace: "fleet", name: "workers" };
    await startNotice(stage.client, both, { pool, notice: { ...notice, revision: "4", image: "image-4" } });
    return stage.client.workflow.getHandle(noticeIdOf(pool, "n")) as unknown as Handle;
  },
};

/** Stories by the folder that has their histories. */
const stories: Record<string, Record<string, Story>> = {
  roll_out_machine_deployment: rollouts,
  renew_credentials: renewals,
  admit_joining_node: joining,
  keep_autoscaler: autoscalers,
  roll_out_node_version: versions,
  discover_scaling_groups: discoveries,
  plan_pool: plans,
  admit_image: images,
  roll_out_node_pool: nodePools,
  send_notice: notices,
  upgrade_kubernetes: upgrades,
  renew_certificates: certificates,
};

async function record(
  stage: Stage,
  { folder, story, play }: { folder: string; story: string; play: Story },
): Promise<void> {
  const path = join(root, folder, `${release}-${story}.json`);
  if (existsSync(path)) return console.log(`kept ${path}`);
  const handle = await play(stage);
  await handle.result().catch(() => undefined); // a story may end with a cancelled run
  const history = await handle.fetchHistory();
  await writeFile(path, `${plainHistory(history)}\n`);
  console.log(`recorded ${path}: ${history.events?.length} events`);
}

const stage = new Stage();
await stage.open();
try {
  for (const [folder, plays] of Object.entries(stories)) {
    await mkdir(join(root, folder), { recursive: true });
    for (const [story, play] of Object.entries(plays)) await record(stage, { folder, story, play });
  }
} finally {
  await stage.close();
}
Deno.exit(0);

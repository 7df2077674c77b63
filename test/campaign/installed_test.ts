/**
 * Ostler makes real machines while it runs as processes of this host. Its chart then installs Ostler on these machines,
 * and Ostler manages them from there.
 */
import process from "node:process";
import { keepsPromises } from "../integration/stories/told_story.ts";
import { machineTest } from "../machines/real_machines.ts";

/** How long Temporal is cut off during a rollout. */
const cutSeconds = process.env["OSTLER_TEST_CUT_SECONDS"] ?? "30";

machineTest(
  "deno task demo --story installed: runs Ostler in pods on its own machines, and keeps every promise",
  async () => {
    const install = process.env["OSTLER_INSTALL_DOCKER"] === "true" ? ["--install-docker"] : [];
    const flags = ["--machines", "container", "--cut-seconds", cutSeconds, ...install];
    await keepsPromises("installed", { flags, minutes: 30 + Math.ceil(Number(cutSeconds) / 60) });
  },
);

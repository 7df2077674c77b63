/**
 * Machines of a cloud's scaling groups that really boot, and are replaced for another image and for another kubelet.
 */
import process from "node:process";
import { keepsPromises } from "../integration/stories/told_story.ts";
import { machineTest } from "../machines/real_machines.ts";

machineTest(
  "deno task demo --story scaling-group --machines container: rolls groups, and keeps every promise",
  async () => {
    const install = process.env["OSTLER_INSTALL_DOCKER"] === "true" ? ["--install-docker"] : [];
    await keepsPromises("scaling-group", { flags: ["--machines", "container", ...install], minutes: 20 });
  },
);

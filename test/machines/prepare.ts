// Entry point: builds once what all machines of the tests need; where machines cannot run, prints the reason and builds
// nothing.
import { join } from "node:path";
import process from "node:process";
import { machinesFolder } from "../../deploy/local/demo/ground.ts";
import { componentImages } from "../support/kubeadm/component_images.ts";
import { controlPlanePrograms, previousPrograms, previousVersion } from "../support/kubeadm/programs.ts";
import { findPostgres } from "../../deploy/local/stack/lent_temporal.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { temporalToolNames } from "../../deploy/local/tools/tool_name.ts";
import { missing, openHost } from "./real_machines.ts";

if (missing === undefined) {
  const start = performance.now();
  const host = await openHost((text) => {
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    process.stdout.write(`${seconds.padStart(6)} s  ${text}\n`);
  });
  const isForCampaign = process.argv.includes("--campaign");
  if (isForCampaign) await host.addOstree("prepared");
  await host.stop();
  // Building real control planes, and Temporal as users run it, takes minutes more.
  if (isForCampaign) {
    const folder = join(machinesFolder(), "control-plane");
    await componentImages(folder, await controlPlanePrograms());
    await componentImages(`${folder}-${previousVersion}`, await previousPrograms(), previousVersion);
    if (await findPostgres() !== undefined) await resolveTools(temporalToolNames);
  }
} else {
  process.stdout.write(`No machine can run here, so their tests are skipped: ${missing}\n`);
}
// testcontainers keeps a connection to the engine, which would keep this process running.
process.exit(0);

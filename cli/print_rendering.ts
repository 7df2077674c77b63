import { stringify } from "yaml";
import { type MachineFile, machineFiles } from "./machine_files.ts";
import { phases, type Rendering, sizeText } from "./rendering.ts";
import { styled, type Terminal } from "./terminal.ts";

/** How a rendering is shown. */
export type RenderFormat = "text" | "json" | "yaml";

/** Shows everything that machines would boot with. */
export function printRendering(terminal: Terminal, rendering: Rendering, format: RenderFormat): void {
  if (format === "json") return terminal.out(`${JSON.stringify(plain(rendering), null, 2)}\n`);
  if (format === "yaml") return terminal.out(stringify(plain(rendering), { lineWidth: 0 }));
  terminal.out(summaryText(terminal, rendering));
  for (const file of machineFiles(rendering.config)) terminal.out(fileText(terminal, file));
}

/** What was rendered for whom, its digest, and how large the user-data is. */
export function summaryText(terminal: Terminal, { profile, deployment, config, digest, userData }: Rendering): string {
  const { namespace, name, kubelet } = deployment.deployment;
  const sizes = phases.map((phase) => `${phase} ${sizeText(userData[phase])}`).join(", ");
  const lines = {
    profile: `${profile.name} ${profile.version}`,
    machines: `${namespace}/${name}, kubelet ${kubelet} on ${config.cloudProvider.name}`,
    digest,
    "user-data": sizes,
  };
  return Object.entries(lines).map(([key, text]) => `${styled(terminal, "bold", key.padEnd(9))} ${text}\n`).join("");
}

function fileText(terminal: Terminal, { phase, path, mode, text }: MachineFile): string {
  const title = `=== ${phase} ${path}${mode && ` ${mode}`}`;
  return `\n${styled(terminal, ["bold", "cyan"], title)}\n${text}${text === "" || text.endsWith("\n") ? "" : "\n"}`;
}

function plain(rendering: Rendering): object {
  const { profile, deployment, config, digest, userData, ignoredSettings } = rendering;
  const { namespace, name, kubelet } = deployment.deployment;
  const { bootstrapConfig, provisioningConfig, ...rest } = config;
  const files = machineFiles(rendering.config).filter(({ mode }) => mode !== "");
  const phaseOf = (phase: "bootstrap" | "provisioning", { files: _, ...told }: typeof bootstrapConfig): object => ({
    files: files.filter((file) => file.phase === phase).map(({ path, mode, text }) => ({ path, mode, content: text })),
    ...told,
    userData: userData[phase],
  });
  return {
    profile,
    machineDeployment: { namespace, name, kubelet },
    digest,
    ignoredSettings,
    ...rest,
    bootstrap: phaseOf("bootstrap", bootstrapConfig),
    provisioning: phaseOf("provisioning", provisioningConfig),
  };
}

import { type MachineFile, machineFiles } from "../../cli/machine_files.ts";
import {
  defaultProfiles,
  edgeScript,
  generateUserData,
  namesOf,
  type OsConfig,
  type OsProfile,
  type Phase,
  renderConfig,
  type RenderFacts,
  supportedMinors,
  userDataFacts,
} from "../../profiles/mod.ts";
import { renderFacts } from "../support/render_facts.ts";
import { variants } from "./variants.ts";

export const phases: readonly Phase[] = ["bootstrap", "provisioning"];

/** One tested combination of profile, provider, kubelet version and variant, with its rendered output. */
export interface Machine {
  profile: string;
  /** Names the combination in messages of failed tests: provider, kubelet version and variant. */
  label: string;
  minor: number;
  config: OsConfig;
  files: MachineFile[];
  userData: Record<Phase, string>;
  /** Only for profiles that use Ignition: the user-data with `ignitionVersion: 3.3.0`. */
  ignition3?: Record<Phase, string>;
  /** Only for provider "edge": the script that an administrator runs on the machine. */
  edgeScript?: string;
}

interface Cell extends Pick<Machine, "profile" | "label" | "minor"> {
  spec: OsProfile;
  facts: RenderFacts;
}

/**
 * Renders every combination of default profile, provider, kubelet minor version and variant; `onProgress` is called
 * from time to time.
 */
export async function renderMatrix(onProgress: (done: number, all: number) => void): Promise<Machine[]> {
  const profiles = await defaultProfiles();
  const cells = profiles.flatMap(({ metadata, spec }) => cellsOf(metadata.name, spec));
  const machines: Machine[] = [];
  for (const cell of cells) {
    machines.push(await renderCell(cell));
    if (machines.length % 100 === 0 || machines.length === cells.length) onProgress(machines.length, cells.length);
  }
  return machines;
}

function cellsOf(profile: string, spec: OsProfile): Cell[] {
  return spec.supportedCloudProviders.flatMap(({ name: provider }) =>
    supportedMinors.flatMap((minor) =>
      Object.keys(variants).map((variant) => {
        const label = `${provider}, kubelet 1.${minor}, ${variant}`;
        return { profile, spec, minor, label, facts: factsOf(spec, { provider, minor, variant }) };
      })
    )
  );
}

/** The static network of Flatcar machines; Ostler supports a static network only on Flatcar. */
const staticNetwork = { cidr: "192.0.2.10/24", gateway: "192.0.2.1", dns: { servers: ["192.0.2.53", "2001:db8::35"] } };

function factsOf(
  { osName, provisioningUtility }: OsProfile,
  { provider, minor, variant }: { provider: string; minor: number; variant: string },
): RenderFacts {
  const { deployment, provider: asked, ...others } = variants[variant] ?? {};
  const isFlatcar = osName === "flatcar";
  return renderFacts({
    ...others,
    deployment: { ...deployment, kubelet: `1.${minor}.1` },
    provider: {
      ...asked,
      ...(isFlatcar && variant === "proxy" ? { network: staticNetwork } : {}),
      cloudProvider: provider,
      operatingSystem: osName,
      operatingSystemSpec: { ...(asked?.operatingSystemSpec ?? {}), ...(isFlatcar ? { provisioningUtility } : {}) },
    },
  });
}

async function renderCell({ spec, facts, ...cell }: Cell): Promise<Machine> {
  const config = await renderConfig(spec, facts);
  const textsOf = (config: OsConfig): Record<Phase, string> => {
    const [bootstrap = "", provisioning = ""] = phases.map((phase) =>
      generateUserData(config, phase, userDataFacts(facts))
    );
    return { bootstrap, provisioning };
  };
  return {
    ...cell,
    config,
    files: machineFiles(config).filter(({ mode }) => mode !== ""),
    userData: textsOf(config),
    ...(config.provisioningUtility === "ignition"
      ? { ignition3: textsOf({ ...config, ignitionVersion: "3.3.0" }) }
      : {}),
    ...(facts.provider.cloudProvider === "edge" ? { edgeScript: edgeScriptOf(facts) } : {}),
  };
}

function edgeScriptOf({ deployment, cluster, secrets }: RenderFacts): string {
  return edgeScript({ ...cluster, token: secrets.token, secret: namesOf(deployment).bootstrap });
}

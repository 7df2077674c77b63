import type { RenderFacts } from "./facts.ts";
import { cloudInit } from "./generators/cloud_init.ts";
import { ignition } from "./generators/ignition.ts";
import { ignition3 } from "./generators/ignition_3.ts";
import type { Phase, UserDataGenerator } from "./generators/user_data_generator.ts";
import { asObject, goField } from "./go_json.ts";
import type { OsConfig } from "./os_config.ts";

/** The input of user-data in addition to the config. */
export interface UserDataFacts {
  /** Name of the MachineDeployment, which is also the machine's name on provider edge. */
  name: string;
  /** `distUpgradeOnBoot` in `operatingSystemSpec` of the MachineDeployment. */
  distUpgradeOnBoot: boolean;
}

/** Returns the input for a MachineDeployment; as in Go, the case of key `distUpgradeOnBoot` does not matter. */
export function userDataFacts({ deployment, provider }: RenderFacts): UserDataFacts {
  const spec = asObject(provider.operatingSystemSpec) ?? {};
  return { name: deployment.name, distUpgradeOnBoot: goField(spec, "distUpgradeOnBoot") === true };
}

/** Returns the user-data of one phase; throws ProfileRefused for what the provisioning utility cannot express. */
export function generateUserData(config: OsConfig, phase: Phase, facts: UserDataFacts): string {
  const phaseConfig = phase === "bootstrap" ? config.bootstrapConfig : config.provisioningConfig;
  const provider = config.cloudProvider.name;
  return generatorFor(config)({ phase, provider, config: phaseConfig, ...facts });
}

function generatorFor({ provisioningUtility, ignitionVersion }: OsConfig): UserDataGenerator {
  if (provisioningUtility === "cloud-init") return cloudInit;
  return ignitionVersion === "3.3.0" ? ignition3 : ignition;
}

import type { RenderFacts } from "./facts.ts";
import { cloudInit } from "./generators/cloud_init.ts";
import { ignition } from "./generators/ignition.ts";
import { ignition3 } from "./generators/ignition_3.ts";
import type { Phase, UserDataGenerator } from "./generators/user_data_generator.ts";
import { asObject, goField } from "./go_json.ts";
import type { OsConfig } from "./os_config.ts";

/** What user-data needs to know beside the config. */
export interface UserDataFacts {
  /** Name of the MachineDeployment: the machine's name on provider edge, where nobody else gives one. */
  name: string;
  /** From the MachineDeployment's `operatingSystemSpec`. */
  distUpgradeOnBoot: boolean;
}

/** Reads them; the case of letters in a key does not matter, as in Go. */
export function userDataFacts({ deployment, provider }: RenderFacts): UserDataFacts {
  const said = asObject(provider.operatingSystemSpec) ?? {};
  return { name: deployment.name, distUpgradeOnBoot: goField(said, "distUpgradeOnBoot") === true };
}

/** Writes what a machine gets in one phase; throws ProfileRefused for what its utility cannot say. */
export function generateUserData(config: OsConfig, phase: Phase, facts: UserDataFacts): string {
  const phaseConfig = phase === "bootstrap" ? config.bootstrapConfig : config.provisioningConfig;
  const provider = config.cloudProvider.name;
  return generatorFor(config)({ phase, provider, config: phaseConfig, ...facts });
}

function generatorFor({ provisioningUtility, ignitionVersion }: OsConfig): UserDataGenerator {
  if (provisioningUtility === "cloud-init") return cloudInit;
  return ignitionVersion === "3.3.0" ? ignition3 : ignition;
}

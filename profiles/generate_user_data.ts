import { cloudInit } from "./generators/cloud_init.ts";
import type { Phase, UserDataGenerator } from "./generators/user_data_generator.ts";
import type { OsConfig } from "./os_config.ts";
import { checkUtility } from "./profile_fit.ts";
import type { OsFile } from "./schema.ts";

const generators: UserDataGenerator[] = [cloudInit];

/**
 * Writes what a machine gets in one phase, `extraFiles` after the config's own: secrets go there, never into the config.
 * Throws ProfileRefused (ProfileInvalid) for a utility that this version cannot write for.
 */
export function generateUserData(config: OsConfig, phase: Phase, extraFiles: readonly OsFile[] = []): string {
  const generator = generators.find(({ utility }) => utility === config.provisioningUtility);
  if (generator === undefined) {
    checkUtility(config.provisioningUtility);
    throw new Error(`Cannot generate user-data for "${config.provisioningUtility}": there is no generator`);
  }
  const phaseConfig = phase === "bootstrap" ? config.bootstrapConfig : config.provisioningConfig;
  return generator.generate({ phase, provider: config.cloudProvider.name, config: phaseConfig, extraFiles });
}

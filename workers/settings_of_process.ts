/** How a process gets its settings when it starts. */
import process from "node:process";
import { type Config, readConfig } from "./config.ts";
import { createLogger } from "./logger.ts";
import { helpText } from "./settings_help.ts";

/** Reads arguments and environment of this process. Ends it after `--help`, and with status 2 when a setting is wrong. */
export function settingsOfProcess(): Config {
  const argv = process.argv.slice(2);
  if (argv.some((argument) => /^--?h(elp)?$/.test(argument))) {
    process.stdout.write(helpText());
    process.exit(0);
  }
  try {
    const config = readConfig(process.env, argv);
    const log = createLogger(config.logLevel);
    for (const warning of config.warnings) log.warn(warning);
    return config;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    process.exit(2);
  }
}

// Entry point: builds all files of a release.
import process from "node:process";
import { resolveTools } from "../local/tools/resolve_tools.ts";
import { parseOptions, usage, UsageError } from "./options.ts";
import { makeRelease } from "./release.ts";

async function main(): Promise<number> {
  try {
    const options = parseOptions(process.argv.slice(2));
    if (options.help) return process.stdout.write(usage), 0;
    await makeRelease(options, await resolveTools(["helm", "kubectl"]), (text) => process.stdout.write(`${text}\n`));
    return 0;
  } catch (error) {
    process.stderr.write(`${(error as Error).message}\n`);
    return error instanceof UsageError ? 2 : 1;
  }
}

process.exit(await main());

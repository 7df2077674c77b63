/**
 * Records of passed campaigns. A campaign is a run of `deno task campaign`: tests on real machines that take more than
 * an hour, too slow for every change. A release requires the record of a campaign that passed on its commit.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { cacheFolder, type Environment } from "../local/tools/environment.ts";
import type { Source } from "./source.ts";

/** The record of one campaign. */
interface CampaignRecord {
  readonly commit: string;
  /** When the campaign ended, in UTC. */
  readonly endedAt: string;
  readonly passed: number;
}

/**
 * Records that the campaign passed on this commit, with the number of passed tests; returns the path of the record.
 * Rejects if files differ from the commit, because the campaign then tested something else than the commit.
 */
export async function recordCampaign(
  { commit, isChanged }: Pick<Source, "commit" | "isChanged">,
  passed: number,
  env: Environment = process.env,
): Promise<string> {
  if (isChanged) {
    throw new Error(
      `Failed to record the campaign for commit ${commit}: files differ from the commit; commit them first`,
    );
  }
  const file = recordFile(commit, env);
  const record: CampaignRecord = { commit, endedAt: new Date().toISOString(), passed };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(record)}\n`);
  return file;
}

/** Rejects unless a record exists that the campaign passed on this commit. */
export async function requireCampaign(
  { commit }: Pick<Source, "commit">,
  env: Environment = process.env,
): Promise<void> {
  const text = await readFile(recordFile(commit, env), "utf8").catch(() => "{}");
  const { commit: tested, passed = 0 } = JSON.parse(text) as Partial<CampaignRecord>;
  if (tested === commit && passed > 0) return;
  throw new Error(
    `Failed to release commit ${commit}: no record of a passed campaign; run deno task campaign, or use --draft`,
  );
}

function recordFile(commit: string, env: Environment): string {
  const tools = cacheFolder(env);
  if (tools === undefined) {
    throw new Error("Failed to find the campaign records: neither HOME nor XDG_CACHE_HOME is set; set one of them");
  }
  return join(tools, "..", "campaigns", `${commit}.json`);
}

/** A release takes a record that `deno task campaign` passed on its commit: those tests take too long for every change. */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import process from "node:process";
import { cacheFolder, type Environment } from "../local/tools/environment.ts";
import type { Source } from "./source.ts";

/** What a record says. */
export interface CampaignRecord {
  readonly commit: string;
  /** When it ended, in UTC. */
  readonly endedAt: string;
  readonly passed: number;
}

/** Keeps that the campaign passed on this commit. Rejects where files differ from it, as then the commit was not tested. */
export async function recordCampaign(
  { commit, isChanged }: Pick<Source, "commit" | "isChanged">,
  passed: number,
  env: Environment = process.env,
): Promise<string> {
  if (isChanged) {
    throw new Error(`Cannot record the campaign for ${commit}: files differ from the commit; commit them first`);
  }
  const file = recordFile(commit, env);
  const record: CampaignRecord = { commit, endedAt: new Date().toISOString(), passed };
  await mkdir(dirname(file), { recursive: true });
  await writeFile(file, `${JSON.stringify(record)}\n`);
  return file;
}

/** Rejects unless the campaign passed on this commit. */
export async function requireCampaign(
  { commit }: Pick<Source, "commit">,
  env: Environment = process.env,
): Promise<void> {
  const text = await readFile(recordFile(commit, env), "utf8").catch(() => "{}");
  const { commit: tested, passed = 0 } = JSON.parse(text) as Partial<CampaignRecord>;
  if (tested === commit && passed > 0) return;
  throw new Error(
    `Cannot release ${commit}: no record that its campaign passed; run deno task campaign, or see --draft`,
  );
}

function recordFile(commit: string, env: Environment): string {
  const tools = cacheFolder(env);
  if (tools === undefined) throw new Error("Cannot keep records of campaigns: neither HOME nor XDG_CACHE_HOME is set");
  return join(tools, "..", "campaigns", `${commit}.json`);
}

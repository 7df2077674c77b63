import { match, rejects } from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { recordCampaign, requireCampaign } from "../../../../deploy/release/campaign.ts";

Deno.test("requireCampaign: accepts only the commit on which the campaign passed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ostler-campaign-"));
  try {
    const env = { XDG_CACHE_HOME: folder };
    const [tested, other] = ["a".repeat(40), "b".repeat(40)];
    match(await recordCampaign({ commit: tested, isChanged: false }, 7, env), /a{40}\.json$/);
    await requireCampaign({ commit: tested }, env);
    await rejects(requireCampaign({ commit: other }, env), /Failed to release commit b{40}: .*run deno task campaign/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

Deno.test("recordCampaign: records nothing when files differ from the commit, or when no test passed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "ostler-campaign-"));
  try {
    const env = { XDG_CACHE_HOME: folder };
    const commit = "c".repeat(40);
    await rejects(recordCampaign({ commit, isChanged: true }, 7, env), /files differ from the commit/);
    await rejects(requireCampaign({ commit }, env), /no record/);
    await recordCampaign({ commit, isChanged: false }, 0, env);
    await rejects(requireCampaign({ commit }, env), /no record/);
  } finally {
    await rm(folder, { recursive: true });
  }
});

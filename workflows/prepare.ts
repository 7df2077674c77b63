/** Renders and publishes what a machine of the desired revision boots with. */
import type { Desired } from "./contracts.ts";
import { publish } from "./proxies.ts";
import { report } from "./report.ts";
import type { Rollout } from "./rollout.ts";

/** Makes sure that the secrets of this revision are published; a second call for the same change does nothing. */
export async function prepare(rollout: Rollout, desired: Desired): Promise<void> {
  if (isPrepared(rollout, desired)) return;
  const { pool } = rollout;
  rollout.desired = desired;
  // Until the new one stands, nothing may take the old publication for it.
  rollout.publication = undefined;
  rollout.rendering = await publish.renderConfig.executeWithOptions({ summary: "Render the config" }, [{ pool }]);
  const { configDigest } = rollout.rendering;
  const publication = await publish.publishConfig.executeWithOptions(
    { summary: `Publish the secrets of revision ${desired.revision}` },
    [{ pool, revision: desired.revision, configDigest }],
  );
  rollout.publication = publication;
  if (publication.news === "Published") await announce(rollout, desired);
}

function isPrepared(rollout: Rollout, desired: Desired): boolean {
  const { publication } = rollout;
  if (!publication || rollout.desired?.observed !== desired.observed) return false;
  return Date.now() < Date.parse(publication.renewAt);
}

async function announce(rollout: Rollout, desired: Desired): Promise<void> {
  const message = `Published config and secrets of revision ${desired.revision}`;
  await report(rollout, { phase: "Preparing", reason: "Published", message }, {
    events: [{ type: "Normal", reason: "ConfigPublished", message }],
  });
}

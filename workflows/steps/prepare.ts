/** Renders and publishes what a machine of the desired revision boots with. */
import type { Desired, Rules } from "../contracts/mod.ts";
import { publish, publishAlone, write } from "../proxies.ts";
import { isQuarantined } from "./quarantine.ts";
import { report } from "../status/report.ts";
import type { Rollout } from "../state/rollout.ts";

/** Makes sure that the secrets of this revision are published; a second call for the same change does nothing. */
export async function prepare(rollout: Rollout, desired: Desired): Promise<void> {
  const isKnown = isPrepared(rollout, desired);
  rollout.desired = desired;
  if (isKnown) return;
  const { pool } = rollout;
  // Until the new one stands, nothing may take the old publication for it.
  rollout.publication = undefined;
  const by = Object.keys(rollout.tasks).length === 0 ? publishAlone : publish;
  rollout.rendering = await by.renderConfig.executeWithOptions({ summary: "Render the config" }, [{ pool }]);
  const { configDigest } = rollout.rendering;
  const publication = await by.publishConfig.executeWithOptions(
    { summary: `Publish the secrets of revision ${desired.revision}` },
    [{ pool, revision: desired.revision, configDigest }],
  );
  rollout.publication = publication;
  if (publication.news === "Published") await announce(rollout, desired);
}

/** Where the policy wants machines replaced for a new config, makes that a change of the template; tells whether it did. */
export async function rollProfile(rollout: Rollout, desired: Desired, rules: Rules): Promise<boolean> {
  const { pool, rendering, rollBack } = rollout;
  if (!rendering) return false;
  const before = bootedBefore(rollout, desired);
  // One that changes before all machines have it would else be told as what they all have.
  rollout.begun = before ?? { templateHash: desired.templateHash, configDigest: rendering.configDigest };
  if (rules.onProfileChange !== "Roll" || rollBack || isQuarantined(rollout)) return false;
  if (!before || before.configDigest === rendering.configDigest) return false;
  await write.ensureTemplateStamped.executeWithOptions({ summary: "Write the new config's digest into the template" }, [
    { pool, templateHash: desired.templateHash, configDigest: rendering.configDigest },
  ]);
  return true;
}

/** What machines of the desired template have booted with until now. */
function bootedBefore({ memory, begun }: Rollout, { templateHash }: Desired): Rollout["begun"] {
  return [memory.lastGood, begun].find((each) => each?.templateHash === templateHash) ?? null;
}

function isPrepared(rollout: Rollout, desired: Desired): boolean {
  const { publication } = rollout;
  // A profile that is left for the last good one changes nothing that can be observed, but what is rendered.
  const isSame = rollout.desired?.observed === desired.observed && rollout.desired.specHash === desired.specHash;
  if (!publication || !isSame) return false;
  return Date.now() < Date.parse(publication.renewAt);
}

async function announce(rollout: Rollout, desired: Desired): Promise<void> {
  const message = `Published config and secrets of revision ${desired.revision}`;
  await report(rollout, { phase: "Preparing", reason: "Published", message }, {
    events: [{ type: "Normal", reason: "ConfigPublished", message }],
  });
}

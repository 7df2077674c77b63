import type { StoryScene } from "../story.ts";
import { installationOf } from "./home.ts";

const bothConverged = /^ostler_rollouts\{phase="Converged"\} 2$/m;

/** Checks that every pod serves its metrics. */
export async function scrapeAll(scene: StoryScene): Promise<void> {
  const { cluster, checks } = scene;
  const installation = installationOf(scene);
  const pods = await installation.pods.all();
  const texts = await cluster.until("the metrics of every pod and of both pools", async () => {
    const scraped = await Promise.all(pods.map((pod) => installation.scrape(pod)));
    return scraped.some((text) => bothConverged.test(text)) && scraped;
  });
  const seen = texts.map((text) => /^ostler_build_info\{.*process="(\w+)"/m.exec(text)?.[1] ?? "none").sort();
  checks.equal("processes that serve metrics", { seen, wanted: pods.map(({ process }) => process).sort() });
}

/** Renders what stands in secrets only, with everything that must not be seen elsewhere. */
import {
  bootstrapKubeconfig,
  edgeScript,
  generateUserData,
  machineCluster,
  namesOf,
  type Phase,
  ProfileRefused,
  renderConfig as render,
  userDataFacts,
} from "../../profiles/mod.ts";
import { refused } from "../failures.ts";
import type { Credentials } from "./credentials.ts";
import type { RenderedPool } from "./render_config.ts";

/** The texts of a pool's secrets. */
export interface SecretTexts {
  provisioning: string;
  kubeconfig: string;
  bootstrap: string;
  /** On provider edge alone. */
  edgeScript?: string;
}

/** On provider edge a script is published too. */
export function isEdge({ facts }: RenderedPool): boolean {
  return facts.provider.cloudProvider === "edge";
}

/** Renders with real credentials; a failure tells nothing of them. */
export async function renderSecrets(
  rendered: RenderedPool,
  { fetchToken, joinToken }: Credentials,
): Promise<SecretTexts> {
  const { facts, profile } = rendered;
  const cluster = machineCluster(facts);
  const kubeconfig = bootstrapKubeconfig(cluster, joinToken);
  const secrets = { ...facts.secrets, token: fetchToken, bootstrapKubeconfig: kubeconfig };
  try {
    const full = await render(profile, { ...facts, secrets });
    const userData = (phase: Phase): string => generateUserData(full, phase, userDataFacts(facts));
    const fetch = { apiServer: cluster.apiServer, token: fetchToken, secret: namesOf(facts.deployment).bootstrap };
    return {
      ...{ provisioning: userData("provisioning"), kubeconfig, bootstrap: userData("bootstrap") },
      ...(isEdge(rendered) ? { edgeScript: edgeScript(fetch) } : {}),
    };
  } catch (error) {
    // Without a cause: with placeholders it rendered, so what failed is what is secret, and the words may quote it.
    throw whatHides(error);
  }
}

function whatHides(error: unknown): Error {
  if (!(error instanceof ProfileRefused)) return new Error("Cannot render the user-data: the engine did not answer");
  const state = "it renders with placeholders, but not with the secrets that they stand for";
  return refused("RenderFailed", `Cannot render the user-data: ${state}`);
}

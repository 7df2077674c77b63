import { bootstrapKubeconfig, machineCluster } from "./bootstrap_kubeconfig.ts";
import { cloudConfig } from "./cloud_config/cloud_config.ts";
import type { RegistryAuth, RenderFacts } from "./facts.ts";
import { asObject } from "./go_json.ts";
import type { NodeSettings } from "./node_settings.ts";

/** What stands where a secret is left out. */
export const hidden = "<hidden>";

/**
 * The same facts with a placeholder for every secret, so that what is rendered from them may be seen. What is empty
 * stays empty, as templates ask for that. Throws as `cloudConfig` does.
 */
export function hideSecrets(facts: RenderFacts): RenderFacts {
  const { provider, settings, secrets } = facts;
  return {
    ...facts,
    provider: {
      ...provider,
      cloudProviderSpec: {},
      operatingSystemSpec: hideFields(provider.operatingSystemSpec),
      overwriteCloudConfig: hide(cloudConfig(facts)),
    },
    settings: {
      ...settings,
      nodeHttpProxy: hideLogin(settings.nodeHttpProxy),
      nodeRegistryMirrors: settings.nodeRegistryMirrors.map(hideLogin),
      nodeContainerdRegistryMirrors: settings.nodeContainerdRegistryMirrors.map(hideLogin),
      binariesUrl: hideLogin(settings.binariesUrl),
    },
    secrets: {
      token: hidden,
      // A template may read it as YAML: it says what the real one says, but for the token.
      bootstrapKubeconfig: bootstrapKubeconfig(machineCluster(facts), hidden),
      registryAuths: hideAuths(secrets.registryAuths),
      references: {},
      seed: hidden,
    },
  };
}

/** Everything that `hideSecrets` hides and that machines boot with, but for credentials that are renewed as time goes by. */
export function lastingSecrets(facts: RenderFacts): unknown {
  const { provider, settings, secrets } = facts;
  return {
    cloudConfig: cloudConfig(facts),
    registryAuths: secrets.registryAuths,
    operatingSystem: secretFields(provider.operatingSystemSpec),
    settings: loginsOf(settings),
  };
}

/** What `operatingSystemSpec` says of a RHEL subscription; the case of letters does not matter there. */
const secretField = /^(rhelSubscriptionManagerPassword|rhelActivationKey|rhsmOfflineToken)$/i;

function hideFields(spec: unknown): unknown {
  const object = asObject(spec);
  if (object === undefined) return spec;
  const fields = Object.entries(object).map(([key, value]) => [
    key,
    secretField.test(key) && typeof value === "string" ? hide(value) : value,
  ]);
  return Object.fromEntries(fields);
}

function secretFields(spec: unknown): unknown {
  return Object.fromEntries(Object.entries(asObject(spec) ?? {}).filter(([key]) => secretField.test(key)));
}

function loginsOf(settings: NodeSettings): string[] {
  const { nodeHttpProxy, nodeRegistryMirrors, nodeContainerdRegistryMirrors, binariesUrl } = settings;
  return [nodeHttpProxy, binariesUrl, ...nodeRegistryMirrors, ...nodeContainerdRegistryMirrors]
    .filter((url) => hideLogin(url) !== url);
}

/** A mirror's registry, before the equals sign. */
const registry = /^(?:[A-Za-z0-9.*_-]+(?::\d+)?(?:\/[^=@]*)?=)?/;

/**
 * Takes user and password out of a URL, before which a registry may stand; what comes out can still be read as a URL.
 * All up to the last @ counts: better too much than half of a password that should have been escaped.
 */
function hideLogin(text: string): string {
  const start = text.indexOf("://") + 3;
  const end = text.lastIndexOf("@");
  if (end < 0) return text;
  const kept = start > 2 ? text.slice(0, start) : registry.exec(text)?.[0] ?? "";
  return `${kept}hidden${text.slice(end)}`;
}

function hideAuths(auths: Record<string, RegistryAuth>): Record<string, RegistryAuth> {
  const hideValues = (auth: RegistryAuth): RegistryAuth =>
    Object.fromEntries(Object.entries(auth).map(([key, value]) => [key, hide(value)]));
  return Object.fromEntries(Object.entries(auths).map(([registry, auth]) => [registry, hideValues(auth)]));
}

function hide(text: string): string {
  return text === "" ? "" : hidden;
}

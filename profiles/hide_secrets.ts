import { bootstrapKubeconfig, machineCluster } from "./bootstrap_kubeconfig.ts";
import { cloudConfig } from "./cloud_config/cloud_config.ts";
import type { RegistryAuth, RenderFacts } from "./facts.ts";
import { asObject } from "./go_json.ts";
import type { NodeSettings } from "./node_settings.ts";

/** The placeholder for a secret. */
export const hidden = "<hidden>";

/**
 * Returns the facts with a placeholder for every secret, so that the config rendered from them can be shown. Empty
 * values stay empty, because templates test whether a value is empty. Throws the errors of `cloudConfig`.
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
      // A template can parse the kubeconfig as YAML, so only the token is replaced.
      bootstrapKubeconfig: bootstrapKubeconfig(machineCluster(facts), hidden),
      registryAuths: hideAuths(secrets.registryAuths),
      references: {},
      seed: hidden,
    },
  };
}

/**
 * Returns the long-lived secrets that machines boot with. The token and the kubeconfig are left out, because they are
 * renewed without replacing machines.
 */
export function lastingSecrets(facts: RenderFacts): unknown {
  const { provider, settings, secrets } = facts;
  return {
    cloudConfig: cloudConfig(facts),
    registryAuths: secrets.registryAuths,
    operatingSystem: secretFields(provider.operatingSystemSpec),
    settings: loginsOf(settings),
  };
}

/** Secret fields of a RHEL subscription in `operatingSystemSpec`, where keys are matched without regard to case. */
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

/** The registry of a mirror, up to the equals sign. */
const registry = /^(?:[A-Za-z0-9.*_-]+(?::\d+)?(?:\/[^=@]*)?=)?/;

/**
 * Returns a URL, with an optional `registry=` before it, with `hidden` in place of user and password; the result is
 * still a valid URL. Replaces everything up to the last @, because an unescaped password can contain an @ itself.
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

/** Renders the config that Ostler would publish for a pool, without writing anything. */
import { z } from "zod";
import type { Cluster } from "../cluster.ts";
import {
  defaultProfiles,
  hidden,
  namesOf,
  type NodeSettings,
  type OsConfig,
  referencesOf,
  unknownProviders,
  withoutEffect,
} from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { renderPool } from "../config/render_config.ts";
import { profileRef } from "../config/read_profile.ts";
import { profileLine } from "../config/profile_line.ts";
import { configs, machineDeployments, type OsProfileObject, profiles, readObject } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";
import { listEach } from "./listing.ts";
import { fateOfDefault } from "../config/default_profiles.ts";

/** The profiles as they are once Ostler has started, by "namespace/name". */
type ExpectedProfiles = ReadonlyMap<string, OsProfileObject>;

/** The parameters of a rendering that are the same for all pools of a cluster. */
export interface ExpectedRenderer {
  kube: Cluster;
  profileNamespace: string;
  settings: NodeSettings;
  /** Returns the CA of the API server, in PEM; used if the cluster announces no CA. */
  clusterCa: () => string;
  /** The environment of the process that renders. */
  environment: Readonly<Record<string, string | undefined>>;
  profiles: ExpectedProfiles;
}

/** The config that Ostler would publish, or why it would refuse to. */
export interface ExpectedConfig {
  /** The profile, as "namespace/name", and its version. */
  profile: string;
  profileVersion: string;
  config?: OsConfig;
  /** The config that is published now. */
  published?: Published;
  refusal?: { reason: string; message: string };
  warnings: string[];
}

/** The phases of a published config. */
export type Published = z.infer<typeof Published>["spec"];

const Phase = z.looseObject({
  files: z.array(z.looseObject({
    path: z.string(),
    permissions: z.number().default(644),
    content: z.object({ inline: z.object({ data: z.string().default("") }) }),
  })).nullish().transform((files) => files ?? []),
}).default({ files: [] });

const Published = z.object({ spec: z.looseObject({ bootstrapConfig: Phase, provisioningConfig: Phase }) });

/** Namespace whose Secrets and ConfigMaps Ostler's worker can read without the chart's `rbac.providerReferences`. */
const freeNamespace = "kube-system";

/**
 * Reads all profiles, and returns them as they will be once the controller has installed Ostler's default profiles.
 * Adds each missing default profile, and replaces existing ones as `fateOfDefault` decides. With `isKept`, returns the
 * existing profiles unchanged.
 */
export async function readExpectedProfiles(
  kube: Cluster,
  { profileNamespace, isKept }: { profileNamespace: string; isKept: boolean },
): Promise<ExpectedProfiles> {
  const found = await listEach(kube, profiles, (object) => profiles.schema.safeParse(object).data ?? []);
  const known = new Map(found.flat().map((each) => [`${each.metadata.namespace}/${each.metadata.name}`, each]));
  if (isKept) return known;
  for (const { metadata: { name }, spec } of await defaultProfiles()) {
    const key = `${profileNamespace}/${name}`;
    const existing = known.get(key);
    if (fateOfDefault(existing, spec.version) !== "Install") continue;
    // Invents a UID: UID and resource version are the key under which the parsed profile is cached for all pools.
    const uid = `default profile ${name}`;
    const metadata = { name, namespace: profileNamespace, uid, resourceVersion: spec.version, creationTimestamp: "" };
    known.set(key, { metadata, spec });
  }
  return known;
}

/** Renders a pool, and reads what is published for it; undefined if the pool does not exist any more. */
export async function readExpectedConfig(
  renderer: ExpectedRenderer,
  pool: PoolRef,
): Promise<ExpectedConfig | undefined> {
  const { kube, profileNamespace, settings, environment, clusterCa } = renderer;
  const expected: ExpectedConfig = { profile: "", profileVersion: "", warnings: [] };
  try {
    const deployment = await ifFound(readObject(kube, machineDeployments, pool));
    if (!deployment) return undefined;
    const ref = profileRef(deployment, profileNamespace);
    const line = ref ? profileLine(ref, ({ namespace, name }) => renderer.profiles.get(`${namespace}/${name}`)) : [];
    expected.profile = ref ? `${ref.namespace}/${ref.name}` : "";
    expected.profileVersion = String((line[0]?.object?.spec as { version?: unknown } | undefined)?.version ?? "");
    const { shown, profile, facts } = await renderPool({
      ...{ kube, profileNamespace, settings, environment, clusterCa, freshMs: 600_000 },
      ...{ seed: hidden, source: { deployment, line, since: 0 } },
    }, pool);
    const { metadata } = deployment.spec.template as { metadata?: { annotations?: Record<string, string> } };
    expected.config = shown;
    expected.warnings = [
      ...withoutEffect({ templateAnnotations: metadata?.annotations ?? {}, provider: facts.provider }),
      ...unknownProviders(profile).map(({ message }) => `the profile names a provider: ${message}`),
      ...foreignReferences(referencesOf(facts)),
    ];
    const config = { namespace: profileNamespace, name: namesOf(pool).config };
    const published = Published.safeParse(await ifFound(readObject(kube, configs, config)));
    if (published.success) expected.published = published.data.spec;
  } catch (error) {
    const { name, type, message } = error as Error & { type?: string };
    if (name !== "ApplicationFailure" || type === "ApiUnavailable") throw error;
    expected.refusal = { reason: type ?? "Other", message };
  }
  return expected;
}

/**
 * Returns a warning for each referenced namespace that Ostler's worker can read only with a permission of the chart.
 */
function foreignReferences(references: readonly string[]): string[] {
  const foreign = references.filter((reference) => /^(secret|configmap):/.test(reference))
    .map((reference) => reference.split(/[:/]/)[1] ?? "").filter((namespace) => namespace !== freeNamespace);
  return [...new Set(foreign)].map((namespace) =>
    `its provider spec references namespace "${namespace}": list it in the chart's rbac.providerReferences`
  );
}

/** A native profile's files as Go templates, so that both engines have the same work. */
import {
  namesOf,
  type OsConfig,
  type OsConfigPhase,
  type OsProfile,
  parseProfile,
  type RenderFacts,
} from "../../profiles/mod.ts";

/**
 * The profile whose templates have these texts for these facts: known values are fields again, and a condition in every
 * file is false, as most of a real profile's are.
 */
export function goProfileOf(profile: OsProfile, config: OsConfig, facts: RenderFacts): OsProfile {
  const names = namesOf(facts.deployment);
  const fields: [string, string][] = [
    [names.provisioning, ".SecretName"],
    [names.kubeletBootstrap, ".BootstrapKubeconfigSecretName"],
    [facts.cluster.apiServer, ".ServerURL"],
    [facts.secrets.token, ".Token"],
    [`v${facts.deployment.kubelet}`, ".KubeVersion"],
    [facts.cluster.caPem, ".KubernetesCACert"],
  ];
  const template = (text: string): string => {
    const escaped = text.replaceAll("{{", '{{ "{{" }}');
    const filled = fields.reduce((sum, [value, field]) => sum.replaceAll(value, `{{ ${field} }}`), escaped);
    return `{{ if and .HTTPProxy (semverCompare "<1.30" .KubeVersion) }}{{ range .ClusterDNSIPs }}{{ . }}{{ end }}{{ end }}${filled}`;
  };
  const phase = ({ files, modules }: OsConfigPhase): object => ({
    files: files.map((file) => ({
      ...file,
      content: { inline: { ...file.content.inline, data: template(file.content.inline.data) } },
    })),
    ...(modules ? { modules } : {}),
  });
  // The registries' files are added to every profile, in either language.
  const own = config.provisioningConfig.files.filter(({ path }) => !path.startsWith("/etc/containerd/certs.d/"));
  return parseProfile({
    ...profile,
    templating: "go",
    bootstrapConfig: phase(config.bootstrapConfig),
    provisioningConfig: phase({ ...config.provisioningConfig, files: own }),
  });
}

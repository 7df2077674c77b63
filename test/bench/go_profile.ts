/**
 * Converts an Ostler profile, whose templates are Eta, into one with Go templates, so that both engines do the same
 * work.
 */
import {
  namesOf,
  type OsConfig,
  type OsConfigPhase,
  type OsProfile,
  parseProfile,
  type RenderFacts,
} from "../../profiles/mod.ts";

/**
 * Returns a profile with Go templates that, with the data of `facts`, render to the files of `config`: a known value of
 * `facts` in a file becomes a field of the template. Each template begins with a condition that is false, as most
 * conditions of a real profile are.
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
  // The renderer adds the files of registries to every profile, so a profile must not contain them.
  const own = config.provisioningConfig.files.filter(({ path }) => !path.startsWith("/etc/containerd/certs.d/"));
  return parseProfile({
    ...profile,
    templating: "go",
    bootstrapConfig: phase(config.bootstrapConfig),
    provisioningConfig: phase({ ...config.provisioningConfig, files: own }),
  });
}

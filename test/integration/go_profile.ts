/** A profile of Go templates with the same output as another profile. */

interface Phase {
  files?: { path: string; content: { inline: { data: string } } }[];
  userSSHKeys?: string[];
}

/**
 * Returns a profile made from a published config: each file's text becomes its template, in which `{{ .Token }}`
 * replaces the parts that the config hides.
 */
export function goProfileOf(name: string, version: string, config: Record<string, unknown>): object {
  const { cloudProvider, bootstrapConfig, provisioningConfig, ...rest } = config as {
    cloudProvider: { name: string };
    bootstrapConfig: Phase;
    provisioningConfig: Phase;
  };
  return {
    apiVersion: "operatingsystemmanager.k8c.io/v1alpha1",
    kind: "OperatingSystemProfile",
    metadata: { name, namespace: "kube-system" },
    spec: {
      ...{ ...rest, version, templating: "go", supportedCloudProviders: [{ name: cloudProvider.name }] },
      ...{ bootstrapConfig: templatesOf(bootstrapConfig), provisioningConfig: templatesOf(provisioningConfig) },
    },
  };
}

// The renderer adds the host files of registries to every profile, so a profile must not contain them.
function templatesOf({ userSSHKeys: _, files = [], ...rest }: Phase): Phase {
  const own = files.filter(({ path }) => !path.startsWith("/etc/containerd/certs.d/"));
  return { ...rest, files: own.map((file) => ({ ...file, content: { inline: templateOf(file.content.inline) } })) };
}

function templateOf<T extends { data: string }>(inline: T): T {
  const data = inline.data.replaceAll("{{", '{{ "{{" }}').replaceAll("<hidden>", "{{ .Token }}");
  return { ...inline, data };
}

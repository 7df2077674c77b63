import { type CloudConfigWriter, fromBase64 } from "./cloud_config_writer.ts";
import { type ProviderValues, refused } from "./provider_values.ts";
import { goYamlScalar } from "./yaml_scalar.ts";

const kubeconfig = "auth.kubeconfig";

/** YAML with the kubeconfig of the cluster that runs the machines. */
export const kubevirt: CloudConfigWriter = {
  fields: { [kubeconfig]: "KUBEVIRT_KUBECONFIG" },
  variables: ["POD_NAMESPACE"],
  write(values): string {
    const scalar = (text: string): string => goYamlScalar(text, "        ");
    const namespace = values.variable("POD_NAMESPACE") || "kube-system";
    return `global:
    kubeconfig: ${scalar(kubeconfigOf(values))}
    namespace: ${scalar(namespace)}
`;
  },
};

/** What stands in the spec itself must be base64, what comes from elsewhere may be. */
function kubeconfigOf(values: ProviderValues): string {
  const literal = values.literal(kubeconfig);
  if (literal === "") {
    const text = values.text(kubeconfig);
    return fromBase64(text) ?? text;
  }
  const decoded = fromBase64(literal);
  if (decoded === undefined) throw refused(`${kubeconfig} must be a kubeconfig in base64`);
  return decoded;
}

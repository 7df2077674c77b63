import process from "node:process";

// These families silently change what etcd, the Kubernetes binaries and the Temporal CLI do.
const reconfiguring = /^(ETCD_|ETCDCTL_|KUBE|TEMPORAL_|POD_NAMESPACE$)/;

/** Our own environment without the variables that reconfigure the embedded servers, plus `extra`. */
export function childEnvironment(
  extra: Readonly<Record<string, string>> = {},
  own: Readonly<Record<string, string | undefined>> = process.env,
): Record<string, string> {
  const kept = Object.entries(own).filter(([name, value]) => value !== undefined && !reconfiguring.test(name));
  return { ...Object.fromEntries(kept), ...extra } as Record<string, string>;
}

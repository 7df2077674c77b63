import { connect, type Connection } from "../kube.ts";
import type { Link } from "../link.ts";
import { type Patience, persist } from "../patience.ts";
import { type Bootstrap, readBootstrap } from "./bootstrap.ts";
import { obtainNodeConfig, readBootstrapKubeconfig } from "./certificate.ts";
import { parseCloudConfig } from "./cloud_config.ts";
import { fetchSecret } from "./fetch_secret.ts";
import { NodeAgent } from "./node.ts";
import type { NodeFacts } from "./node_object.ts";
import { packagesOf } from "./packages.ts";
import { type Provisioning, readProvisioning } from "./provisioning.ts";

/** The steps of a boot, in order. */
export type BootStep = "user-data" | "provisioning" | "certificate" | "registering";

/** What the machine itself brings: all else comes out of its user-data. */
export interface BootMeans {
  userData: () => Promise<string>;
  link: Link;
  patience: Patience;
  enter: (step: BootStep) => void;
}

/** A machine that has its files and could start a kubelet. */
export type Provisioned = Bootstrap & { node: Provisioning; packages: readonly string[] };

/** A machine whose Node is registered; whoever holds it closes the connection. */
export interface Joined {
  agent: NodeAgent;
  connection: Connection;
}

/** Reads the user-data and follows it to the provisioning config; throws with the reason when the boot contract is broken. */
export async function provision(means: BootMeans): Promise<Provisioned> {
  means.enter("user-data");
  const bootstrap = readBootstrap(parseCloudConfig(await persist(means.patience, means.userData), "user-data"));
  means.enter("provisioning");
  const text = await persist(means.patience, () => {
    means.link.use();
    return fetchSecret(bootstrap.access, bootstrap.provisioning, "cloud-config");
  });
  const config = parseCloudConfig(text, "provisioning config");
  return { ...bootstrap, node: readProvisioning(config, bootstrap.access.ca), packages: packagesOf(config) };
}

/** Does the kubelet's part: bootstrap kubeconfig, certificate, Node. */
export async function join(
  means: BootMeans,
  machine: Provisioned,
  hardware: Pick<NodeFacts, "providerId" | "address" | "image" | "cpu" | "memory" | "zone">,
): Promise<Joined> {
  means.enter("certificate");
  const secret = { namespace: machine.provisioning.namespace, name: machine.node.kubeconfigSecret };
  const kubeconfig = await persist(means.patience, () => {
    means.link.use();
    return fetchSecret(machine.access, secret, "kubeconfig");
  });
  const config = await obtainNodeConfig(readBootstrapKubeconfig(kubeconfig), machine.hostname, means);
  means.enter("registering");
  const { kubelet, taints } = machine.node;
  const connection = connect(config);
  const agent = new NodeAgent(connection, { ...hardware, name: machine.hostname, kubelet, taints }, means.link);
  try {
    await persist(means.patience, () => agent.register());
  } catch (error) {
    await connection.close();
    throw error;
  }
  return { agent, connection };
}

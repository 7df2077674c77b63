import { connect, type Connection } from "../kube.ts";
import type { Link } from "../link.ts";
import { Hopeless, type Patience, persist } from "../patience.ts";
import { obtainNodeConfig, readBootstrapKubeconfig } from "./certificate.ts";
import { type CloudConfig, parseCloudConfig } from "./cloud_config.ts";
import { type ApiAccess, fetchSecret, type SecretName } from "./fetch_secret.ts";
import { NodeAgent } from "./node.ts";
import type { NodeFacts } from "./node_object.ts";
import { type Provisioning, readProvisioning } from "./provisioning.ts";
import { needCertificate, needSecretFile, needService, needVariables, readVariables, unusable } from "./file_checks.ts";

/** The steps of a boot, in order. */
export type BootStep = "user-data" | "provisioning" | "certificate" | "registering";

/** The input of a boot; everything else, such as the API server's address, is in the user-data. */
export interface BootMeans {
  userData: () => Promise<string>;
  link: Link;
  patience: Patience;
  enter: (step: BootStep) => void;
}

/** A machine that has its files and can start a kubelet. */
export type Provisioned = Bootstrap & { node: Provisioning; packages: readonly string[] };

/** A machine with a registered Node; the caller of `join` closes the connection. */
interface Joined {
  agent: NodeAgent;
  connection: Connection;
}

/**
 * Reads the user-data, then the provisioning config in the Secret that it names; throws an error with the reason if one
 * of them cannot be read, or lacks something that a machine needs to boot.
 */
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

/**
 * Joins the cluster like a kubelet: fetches the bootstrap kubeconfig, obtains a certificate with it, and registers the
 * Node.
 */
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

/** The script that installs packages, if the profile has one. */
const script = "/opt/bin/install-packages";

/**
 * Returns the packages that the install script of a provisioning config would install; none if the config has no such
 * script.
 */
export function packagesOf(config: CloudConfig): string[] {
  const text = config.files.get(script)?.content ?? "";
  const [, list = ""] = /^packages=\(\n([^)]*)\)/m.exec(text) ?? [];
  return list.split("\n").map((line) => line.trim()).filter((line) => /^[a-z0-9]/i.test(line));
}

/** The facts that a machine reads from its user-data. */
export interface Bootstrap {
  hostname: string;
  access: ApiAccess;
  provisioning: SecretName;
  /** The ConfigMap for the machine's boot reports; undefined if the profile has none. */
  report: SecretName | undefined;
}

const environment = "/etc/ostler/boot.env";
const bootstrapScript = "/opt/bin/bootstrap";

/**
 * Reads the values that the bootstrap script uses from the user-data (the first cloud-config); throws Hopeless, which
 * names the file or field, if a value is missing or invalid.
 */
export function readBootstrap(config: CloudConfig): Bootstrap {
  const boot = needVariables(config, environment, ["API_SERVER", "SECRET_NAMESPACE", "SECRET_NAME"]);
  if (!boot.API_SERVER.startsWith("https://")) {
    throw unusable(environment, `API_SERVER "${boot.API_SERVER}" is not an https address`);
  }
  const report = readVariables(config, environment).get("BOOT_REPORT");
  const ca = needCertificate(config, "/etc/ostler/ca.crt");
  const token = needSecretFile(config, "/etc/ostler/token").content.trim();
  const unit = needService(config, bootstrapScript);
  if (!config.commands.some((command) => command.includes(unit) || command.includes(bootstrapScript))) {
    throw unusable(bootstrapScript, `runcmd does not start unit "${unit}"`);
  }
  return {
    hostname: needHostname(config.hostname),
    access: { server: boot.API_SERVER, ca, token },
    provisioning: { namespace: boot.SECRET_NAMESPACE, name: boot.SECRET_NAME },
    report: report ? { namespace: boot.SECRET_NAMESPACE, name: report } : undefined,
  };
}

function needHostname(hostname: string | undefined): string {
  if (hostname === undefined) throw new Hopeless("Failed to boot from user-data: it sets no hostname");
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(hostname)) {
    throw new Hopeless(`Failed to boot from user-data: hostname "${hostname}" is not a DNS name`);
  }
  return hostname;
}

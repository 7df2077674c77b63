import { Hopeless } from "../patience.ts";
import type { CloudConfig } from "./cloud_config.ts";
import { needCertificate, needSecretFile, needService, needVariables, readVariables, unusable } from "./file_checks.ts";
import type { ApiAccess, SecretName } from "./fetch_secret.ts";

/** All a machine knows after reading its user-data. */
export interface Bootstrap {
  hostname: string;
  access: ApiAccess;
  provisioning: SecretName;
  /** The ConfigMap beside it to which the machine says how its boot goes; undefined where the profile knows of none. */
  report: SecretName | undefined;
}

const environment = "/etc/ostler/boot.env";
const script = "/opt/bin/bootstrap";

/** Takes from the first cloud-config what the bootstrap script would use; throws Hopeless with the file's name when something is missing. */
export function readBootstrap(config: CloudConfig): Bootstrap {
  const boot = needVariables(config, environment, ["API_SERVER", "SECRET_NAMESPACE", "SECRET_NAME"]);
  if (!boot.API_SERVER.startsWith("https://")) {
    throw unusable(environment, `API_SERVER "${boot.API_SERVER}" is not an https address`);
  }
  const report = readVariables(config, environment).get("BOOT_REPORT");
  const ca = needCertificate(config, "/etc/ostler/ca.crt");
  const token = needSecretFile(config, "/etc/ostler/token").content.trim();
  const unit = needService(config, script);
  if (!config.commands.some((command) => command.includes(unit) || command.includes(script))) {
    throw unusable(script, `runcmd does not start unit "${unit}"`);
  }
  return {
    hostname: needHostname(config.hostname),
    access: { server: boot.API_SERVER, ca, token },
    provisioning: { namespace: boot.SECRET_NAMESPACE, name: boot.SECRET_NAME },
    report: report ? { namespace: boot.SECRET_NAMESPACE, name: report } : undefined,
  };
}

function needHostname(hostname: string | undefined): string {
  if (hostname === undefined) throw new Hopeless("Cannot boot from user-data: it sets no hostname");
  if (!/^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$/.test(hostname)) {
    throw new Hopeless(`Cannot boot from user-data: hostname "${hostname}" is not a DNS name`);
  }
  return hostname;
}

import { type CloudConfigWriter, iniQuote } from "./cloud_config_writer.ts";
import { type ProviderValues, refused } from "./provider_values.ts";

/** Writes gcfg; application credentials, if given, replace user and password. */
export const openstack: CloudConfigWriter = {
  fields: {
    region: "OS_REGION_NAME",
    domainName: "OS_DOMAIN_NAME",
    identityEndpoint: "OS_AUTH_URL",
    applicationCredentialID: "OS_APPLICATION_CREDENTIAL_ID",
    applicationCredentialSecret: "OS_APPLICATION_CREDENTIAL_SECRET",
    username: "OS_USER_NAME",
    password: "OS_PASSWORD",
    projectName: "OS_PROJECT_NAME",
    tenantName: "OS_TENANT_NAME",
    projectID: "OS_PROJECT_ID",
    tenantID: "OS_TENANT_ID",
    trustDevicePath: "",
  },
  write(values, isPrerelease): string {
    const limit = values.raw("nodeVolumeAttachLimit") ?? 0;
    if (!Number.isSafeInteger(limit) || Number(limit) < 0) {
      throw refused("nodeVolumeAttachLimit must be a whole number");
    }
    // Operating System Manager writes two of the lines only for kubelet versions that meet a constraint; pre-releases
    // never meet it.
    const released = (line: string): string[] => isPrerelease ? [] : [line];
    const lines = [
      "[Global]",
      `auth-url    = ${iniQuote(values.text("identityEndpoint"))}`,
      ...credentialLines(values),
      `region      = ${iniQuote(values.text("region"))}`,
      "",
      "[LoadBalancer]",
      ...released("manage-security-groups = true"),
      "",
      "[BlockStorage]",
      ...released("ignore-volume-az  = true"),
      `trust-device-path = ${values.flag("trustDevicePath")}`,
      `bs-version        = "auto"`,
      ...(limit === 0 ? [] : [`node-volume-attach-limit = ${limit}`]),
    ];
    return `${lines.join("\n")}\n`;
  },
};

function credentialLines(values: ProviderValues): string[] {
  const credential = values.text("applicationCredentialID");
  if (credential !== "") {
    return [
      `application-credential-id     = ${iniQuote(credential)}`,
      `application-credential-secret = ${iniQuote(values.text("applicationCredentialSecret"))}`,
    ];
  }
  return [
    `username    = ${iniQuote(values.text("username"))}`,
    `password    = ${iniQuote(values.text("password"))}`,
    `tenant-name = ${iniQuote(values.text("projectName") || values.text("tenantName"))}`,
    `tenant-id   = ${iniQuote(values.text("projectID") || values.text("tenantID"))}`,
    `domain-name = ${iniQuote(values.text("domainName"))}`,
  ];
}

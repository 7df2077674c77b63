/** Endpoints of Azure's clouds by the host that issues credentials. */
import { refused } from "../../failures.ts";

const managers: Readonly<Record<string, string>> = {
  "login.microsoftonline.com": "https://management.azure.com",
  "login.chinacloudapi.cn": "https://management.chinacloudapi.cn",
  "login.partner.microsoftonline.cn": "https://management.chinacloudapi.cn",
  "login.microsoftonline.us": "https://management.usgovcloudapi.net",
};

/** Returns the address of the resource manager. Throws Refused for an unknown authority. */
export function managerOf(authority = ""): string {
  const [host = ""] = authority.toLowerCase().replace(/^https:\/\//, "").split("/");
  const manager = managers[host || "login.microsoftonline.com"];
  if (manager !== undefined) return manager;
  const known = Object.keys(managers).join(", ");
  throw refused(
    "CloudRefused",
    `Failed to connect to Azure: AZURE_AUTHORITY_HOST is "${authority}"; expected one of ${known}`,
  );
}

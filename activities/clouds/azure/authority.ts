/** Which of Azure's clouds is asked: the one that gives out the credentials. */
import { refused } from "../../failures.ts";

const managers: Readonly<Record<string, string>> = {
  "login.microsoftonline.com": "https://management.azure.com",
  "login.chinacloudapi.cn": "https://management.chinacloudapi.cn",
  "login.partner.microsoftonline.cn": "https://management.chinacloudapi.cn",
  "login.microsoftonline.us": "https://management.usgovcloudapi.net",
};

/** Address of what manages resources there; refused where nobody knows it. */
export function managerOf(authority = ""): string {
  const [host = ""] = authority.toLowerCase().replace(/^https:\/\//, "").split("/");
  const manager = managers[host || "login.microsoftonline.com"];
  if (manager !== undefined) return manager;
  const known = Object.keys(managers).join(", ");
  throw refused(
    "CloudRefused",
    `Failed to connect to Azure: AZURE_AUTHORITY_HOST is "${authority}"; expected ${known}`,
  );
}

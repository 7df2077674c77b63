import { z } from "zod";
import { type CloudConfigWriter, fromBase64, iniQuote } from "./cloud_config_writer.ts";
import { refused } from "./provider_values.ts";

const Tags = z.array(z.string()).default([]);
const ServiceAccount = z.object({ project_id: z.string().default("") });

/** gcfg; the project is that of the service account. */
export const gce: CloudConfigWriter = {
  fields: {
    serviceAccount: "GOOGLE_SERVICE_ACCOUNT",
    zone: "",
    network: "",
    subnetwork: "",
    multizone: "",
    regional: "",
  },
  write(values): string {
    const tags = Tags.safeParse(values.raw("tags"));
    if (!tags.success) throw refused("tags must be a list of texts");
    const lines = [
      "[global]",
      `project-id = ${iniQuote(projectOf(values.text("serviceAccount")))}`,
      `local-zone = ${iniQuote(values.text("zone"))}`,
      `network-name = ${iniQuote(values.text("network"))}`,
      `subnetwork-name = ${iniQuote(values.text("subnetwork"))}`,
      `multizone = ${values.flag("multizone")}`,
      `regional = ${values.flag("regional")}`,
      ...tags.data.map((tag) => `node-tags = ${iniQuote(tag)}`),
    ];
    return `${lines.join("\n")}\n`;
  },
};

function projectOf(serviceAccount: string): string {
  const account = ServiceAccount.safeParse(parseJson(fromBase64(serviceAccount) ?? ""));
  if (!account.success) throw refused("serviceAccount must be the key of a service account, in base64");
  return account.data.project_id;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

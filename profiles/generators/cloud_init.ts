import type { OsFile, OsUnit } from "../schema.ts";
import { moduleText } from "./cloud_init_modules.ts";
import { authorizedKeys, machineName, tellsName, type UserDataRequest } from "./user_data_generator.ts";
import { yamlBlock, yamlEscape, yamlQuote, yamlString } from "./yaml_text.ts";

/**
 * Writes cloud-config, byte for byte as Operating System Manager lays it out, blank lines and odd indentations included;
 * only texts that would not be read back as they are get another encoding.
 */
export function cloudInit(request: UserDataRequest): string {
  const { config, provider, name, distUpgradeOnBoot } = request;
  const isNamed = tellsName(request);
  // Nobody replaces the placeholder on edge machines, which all bear the name of their pool.
  const ownName = provider === "edge" ? name : machineName;
  const units = config.units ?? [];
  const keys = authorizedKeys(request);
  return [
    "#cloud-config\n",
    isNamed ? `hostname: ${yamlString(ownName)}\n` : "",
    "\n",
    distUpgradeOnBoot ? "package_upgrade: true\npackage_reboot_if_required: true\n" : "",
    "ssh_pwauth: false\n\n",
    // cloud-init's schema takes neither null nor an empty list for no keys or files.
    keys.length > 0 ? "ssh_authorized_keys:\n" : "",
    ...keys.map((key) => `- ${yamlQuote(key)}\n`),
    isNamed || config.files.length > 0 ? "write_files:" : "",
    ...config.files.map(fileText),
    isNamed ? `\n- path: /etc/machine-name\n  permissions: '0600'\n  content: |-\n        ${ownName}\n` : "",
    units.length > 0 ? "coreos:\n  units:" : "",
    ...units.map(unitText),
    moduleText(config),
  ].join("");
}

function fileText({ path, permissions, content: { inline: { encoding, data } } }: OsFile): string {
  const text = encoding === "b64" ? new TextEncoder().encode(data).toBase64() : data;
  return [
    `\n- path: ${yamlQuote(path)}\n`,
    `  permissions: '${String(permissions).padStart(4, "0")}'\n`,
    encoding ? `  encoding: ${yamlQuote(encoding)}\n` : "",
    `${yamlBlock("  content", text, { indent: 2, keep: false })}\n`,
  ].join("");
}

/** Flatcar's cloud-init (coreos-cloudinit) has units of its own. */
function unitText({ name, enable = false, mask = false, content, dropIns = [] }: OsUnit): string {
  return [
    `\n  - name: ${yamlEscape(name)}\n`,
    `    enable: ${enable}\n`,
    `    ${enable ? "command: start" : ""}\n`,
    `    mask: ${mask}\n`,
    content ? `\n${yamlBlock("    content", content, { indent: 2, keep: true })}` : "",
    "\n",
    dropIns.length > 0 ? "\n    drop_ins:" : "",
    ...dropIns.map(dropInText),
  ].join("");
}

function dropInText({ name, content }: NonNullable<OsUnit["dropIns"]>[number]): string {
  return `\n      - name: ${yamlEscape(name)}\n${yamlBlock("        content", content, { indent: 2, keep: true })}`;
}

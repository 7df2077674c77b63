import type { OsFile, OsUnit } from "../schema.ts";
import { authorizedKeys, machineName, tellsName, type UserDataRequest } from "./user_data_generator.ts";
import { yamlBlock, yamlEscape, yamlQuote, yamlString } from "./yaml_text.ts";
import type { OsConfigPhase } from "../os_config.ts";

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

type Settings = Record<string, string>;

/** Writes the modules of cloud-init that a phase asks for; nothing for those it leaves empty. */
function moduleText({ modules = {}, packages = [] }: OsConfigPhase): string {
  const { bootcmd = [], runcmd = [], rh_subscription = {}, yum_repos = {}, yum_repo_dir = "" } = modules;
  // cloud-init takes what is not there for not set, refuses null, and fails where nothing says who is to be registered.
  const given = sorted(rh_subscription).filter(([, value]) => value !== "");
  const subscription = given.some(([key]) => key !== "auto-attach") ? given : [];
  const repos = sorted(yum_repos).map(([name, options]) => repoText(name, options));
  return [
    listText("bootcmd", bootcmd),
    listText("runcmd", runcmd),
    sectionText("rh_subscription", subscription.map(([key, value]) => subscriptionText(key, value))),
    sectionText("yum_repos", repos),
    yum_repo_dir ? `\nyum_repo_dir: ${yamlString(yum_repo_dir)}` : "",
    listText("packages", packages),
  ].join("");
}

// A command that is read as anything but a string makes cloud-init run none of them.
function listText(key: string, items: readonly string[]): string {
  return sectionText(key, items.map((item) => `\n- ${yamlString(item)}`));
}

function sectionText(key: string, entries: readonly string[]): string {
  return entries.length > 0 ? `\n${key}:${entries.join("")}\n` : "";
}

// cloud-init wants a boolean for auto-attach.
function subscriptionText(key: string, value: string): string {
  const isBare = isWhole(value) || (key === "auto-attach" && isBoolean(value));
  return `\n    ${yamlString(key)}: ${isBare ? value : yamlString(value)}`;
}

function repoText(name: string, options: Settings): string {
  const lines = sorted(options).map(([key, value]) => `\n       ${yamlString(key)}: ${repoOption(key, value)}`);
  return `\n    ${yamlString(name)}:${lines.join("") || " {}"}`;
}

// cloud-init writes booleans as yum's 1 and 0, which only names and passwords do not mean.
function repoOption(key: string, value: string): string {
  const isBare = isWhole(value) || (isBoolean(value) && !/(name|password)$/i.test(key));
  return isBare ? value : yamlString(value);
}

/** Whether a number in this text is printed as it is written. */
function isWhole(value: string): boolean {
  return /^(0|-?[1-9]\d{0,14})$/.test(value);
}

function isBoolean(value: string): boolean {
  return /^(yes|no|true|false|on|off)$/i.test(value);
}

function sorted<T>(record: Record<string, T>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1);
}

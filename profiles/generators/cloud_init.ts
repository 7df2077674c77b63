import type { OsFile, OsUnit } from "../schema.ts";
import { authorizedKeys, machineName, tellsName, type UserDataRequest } from "./user_data_generator.ts";
import { yamlBlock, yamlEscape, yamlQuote, yamlString } from "./yaml_text.ts";
import type { OsConfigPhase } from "../os_config.ts";

/**
 * Returns cloud-config in the layout of Operating System Manager, byte for byte, including blank lines and unusual
 * indentation. The only exceptions are texts that a parser would not read back unchanged: these are quoted, or their
 * block states its indentation.
 */
export function cloudInit(request: UserDataRequest): string {
  const { config, provider, name, distUpgradeOnBoot } = request;
  const isNamed = tellsName(request);
  // On edge machines nothing replaces the placeholder `<MACHINE_NAME>`, so all of them get the name of their pool.
  const ownName = provider === "edge" ? name : machineName;
  const units = config.units ?? [];
  const keys = authorizedKeys(request);
  return [
    "#cloud-config\n",
    isNamed ? `hostname: ${yamlString(ownName)}\n` : "",
    "\n",
    distUpgradeOnBoot ? "package_upgrade: true\npackage_reboot_if_required: true\n" : "",
    "ssh_pwauth: false\n\n",
    // The schema of cloud-init allows neither null nor an empty list of keys or files.
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

/** Returns a unit as Flatcar's coreos-cloudinit reads it. */
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

/** Returns the cloud-init modules of a phase, without empty ones. */
function moduleText({ modules = {}, packages = [] }: OsConfigPhase): string {
  const { bootcmd = [], runcmd = [], rh_subscription = {}, yum_repos = {}, yum_repo_dir = "" } = modules;
  // cloud-init refuses null values, and fails if a subscription has no field to register with.
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

// Items are quoted where necessary, because cloud-init runs no command of a list if one item is not parsed as a string.
function listText(key: string, items: readonly string[]): string {
  return sectionText(key, items.map((item) => `\n- ${yamlString(item)}`));
}

function sectionText(key: string, entries: readonly string[]): string {
  return entries.length > 0 ? `\n${key}:${entries.join("")}\n` : "";
}

// A boolean is written without quotes only for auto-attach, for which cloud-init needs a boolean.
function subscriptionText(key: string, value: string): string {
  const isBare = isWhole(value) || (key === "auto-attach" && isBoolean(value));
  return `\n    ${yamlString(key)}: ${isBare ? value : yamlString(value)}`;
}

function repoText(name: string, options: Settings): string {
  const lines = sorted(options).map(([key, value]) => `\n       ${yamlString(key)}: ${repoOption(key, value)}`);
  return `\n    ${yamlString(name)}:${lines.join("") || " {}"}`;
}

// Returns the value of an option of a yum repository. For yum, cloud-init writes unquoted booleans as 1 and 0, so a
// name or password such as `true` is quoted.
function repoOption(key: string, value: string): string {
  const isBare = isWhole(value) || (isBoolean(value) && !/(name|password)$/i.test(key));
  return isBare ? value : yamlString(value);
}

/** Returns whether the text is a whole number that is printed back unchanged. */
function isWhole(value: string): boolean {
  return /^(0|-?[1-9]\d{0,14})$/.test(value);
}

function isBoolean(value: string): boolean {
  return /^(yes|no|true|false|on|off)$/i.test(value);
}

function sorted<T>(record: Record<string, T>): [string, T][] {
  return Object.entries(record).sort(([a], [b]) => a < b ? -1 : 1);
}

import type { OsConfigPhase } from "../os_config.ts";
import { yamlString } from "./yaml_text.ts";

type Settings = Record<string, string>;

/** Writes the modules of cloud-init that a phase asks for; nothing for those it leaves empty. */
export function moduleText({ modules = {}, packages = [] }: OsConfigPhase): string {
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

import type { CloudInitModules, OsFile, OsUnit } from "../schema.ts";
import type { UserDataGenerator, UserDataRequest } from "./user_data_generator.ts";
import { yamlBlock, yamlLines, yamlQuote, type YamlValue } from "./yaml_text.ts";

/** machine-controller puts the machine's name in its place, wherever it stands in the bootstrap user-data. */
const machineName = "<MACHINE_NAME>";

const machineNameFile: OsFile = {
  path: "/etc/machine-name",
  permissions: 600,
  content: { inline: { data: machineName } },
};

/** Writes cloud-config. */
export const cloudInit: UserDataGenerator = { utility: "cloud-init", generate };

function generate({ phase, provider, config, extraFiles }: UserDataRequest): string {
  // On aws the cloud's own name for the instance is the node's name.
  const isNamed = phase === "bootstrap" && provider !== "aws";
  const files = [...config.files, ...extraFiles, ...(isNamed ? [machineNameFile] : [])];
  const sections = [
    ["#cloud-config", ...(isNamed ? [`hostname: ${machineName}`] : [])],
    ["ssh_pwauth: false"],
    sshLines(config.userSSHKeys),
    files.length === 0 ? [] : ["write_files:", ...files.flatMap(fileLines)],
    unitLines(config.units ?? []),
    ...moduleSections(config.modules ?? {}),
  ];
  return `${sections.filter((lines) => lines.length > 0).map((lines) => lines.join("\n")).join("\n\n")}\n`;
}

function sshLines(keys: readonly string[]): string[] {
  const wanted = [...new Set(keys.map((key) => key.trim()))].filter((key) => key !== "");
  return yamlLines({ ssh_authorized_keys: wanted });
}

function fileLines({ path, permissions, content: { inline: { encoding, data } } }: OsFile): string[] {
  const isBase64 = encoding === "b64" || encoding === "base64";
  const content = isBase64 ? yamlQuote(toBase64(data)) : yamlBlock(data, "    ");
  return [
    `- path: ${yamlQuote(path)}`,
    `  permissions: ${yamlQuote(String(permissions).padStart(4, "0"))}`,
    ...(encoding ? [`  encoding: ${yamlQuote(encoding)}`] : []),
    `  content: ${content}`,
  ];
}

function toBase64(text: string): string {
  return new TextEncoder().encode(text).toBase64();
}

function unitLines(units: readonly OsUnit[]): string[] {
  if (units.length === 0) return [];
  const described = units.map(({ name, enable = false, mask = false, content, dropIns = [] }): YamlValue => ({
    name,
    enable,
    ...(enable ? { command: "start" } : {}),
    mask,
    ...(content ? { content } : {}),
    ...(dropIns.length > 0 ? { drop_ins: dropIns } : {}),
  }));
  return yamlLines({ coreos: { units: described } });
}

function moduleSections(modules: CloudInitModules): string[][] {
  const { bootcmd = [], runcmd = [], rh_subscription = {}, yum_repos = {}, yum_repo_dir = "" } = modules;
  const given: Record<string, YamlValue> = { bootcmd, runcmd, rh_subscription, yum_repos, yum_repo_dir };
  const isGiven = (value: YamlValue): boolean => Object.keys(value).length > 0;
  return Object.entries(given).filter(([, value]) => isGiven(value)).map(([key, value]) => yamlLines({ [key]: value }));
}

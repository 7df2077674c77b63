import { gunzipSync } from "node:zlib";
import { loadYaml } from "@kubernetes/client-node";
import { Hopeless } from "../patience.ts";

/** A file on the machine's disk. */
export interface BootFile {
  content: string;
  /** Unix permission bits. */
  mode: number;
}

/** The parts of a cloud-config that a simulated machine uses. */
export interface CloudConfig {
  hostname: string | undefined;
  files: ReadonlyMap<string, BootFile>;
  /** The commands of runcmd, each as one line. */
  commands: readonly string[];
}

const header = "#cloud-config";

/** Parses a cloud-config like cloud-init; throws Hopeless, without quoting content, if cloud-init would refuse it. */
export function parseCloudConfig(text: string, source: string): CloudConfig {
  if (text.split("\n", 1)[0]?.trimEnd() !== header) {
    throw new Hopeless(`Failed to parse "${source}": its first line is not "${header}"`);
  }
  const root = parseYamlMap(text, source);
  const hostname = root["hostname"];
  if (hostname !== undefined && typeof hostname !== "string") {
    throw new Hopeless(`Failed to parse "${source}": hostname is not a string`);
  }
  return { hostname, files: readFiles(root["write_files"], source), commands: readCommands(root["runcmd"], source) };
}

/** Parses YAML whose root is a map; errors name `source`, but never quote `text`, because the text may be secret. */
export function parseYamlMap(text: string, source: string): Record<string, unknown> {
  let root: unknown;
  try {
    root = loadYaml(text);
  } catch {
    throw new Hopeless(`Failed to parse "${source}": it is not valid YAML`);
  }
  if (!isMap(root)) throw new Hopeless(`Failed to parse "${source}": it is not a map`);
  return root;
}

function readFiles(value: unknown, source: string): Map<string, BootFile> {
  const files = new Map<string, BootFile>();
  for (const [index, entry] of listOf(value, "write_files", source).entries()) {
    const path = isMap(entry) ? entry["path"] : undefined;
    if (!isMap(entry) || typeof path !== "string" || !path.startsWith("/")) {
      throw new Hopeless(`Failed to parse "${source}": write_files entry ${index} has no absolute path`);
    }
    const content = decodeContent(entry, path);
    const before = entry["append"] === true ? files.get(path)?.content ?? "" : "";
    files.set(path, { content: before + content, mode: modeOf(entry["permissions"], path) });
  }
  return files;
}

function decodeContent(entry: Record<string, unknown>, path: string): string {
  const content = entry["content"] ?? "";
  const encoding = entry["encoding"] ?? "text/plain";
  if (typeof content !== "string") throw new Hopeless(`Failed to write file "${path}": its content is not a string`);
  switch (encoding) {
    case "text/plain":
      return content;
    case "b64":
    case "base64":
      return decodeBase64(content, path).toString("utf8");
    case "gz+b64":
    case "gz+base64":
    case "gzip+base64":
      return decompress(decodeBase64(content, path), path);
    default:
      throw new Hopeless(`Failed to write file "${path}": encoding "${String(encoding)}" is unknown`);
  }
}

function decodeBase64(content: string, path: string): Buffer {
  const compact = content.replaceAll(/\s/g, "");
  if (!/^[A-Za-z0-9+/]*={0,2}$/.test(compact) || compact.length % 4 !== 0) {
    throw new Hopeless(`Failed to write file "${path}": its content is not base64`);
  }
  return Buffer.from(compact, "base64");
}

function decompress(content: Buffer, path: string): string {
  try {
    return gunzipSync(content).toString("utf8");
  } catch {
    throw new Hopeless(`Failed to write file "${path}": its content is not gzip`);
  }
}

// cloud-init reads an unquoted 0644 as an octal number, but this parser returns the decimal number 644, so this
// function reads the digits of that number as octal.
function modeOf(permissions: unknown, path: string): number {
  if (permissions === undefined) return 0o644;
  const digits = String(permissions);
  if (!/^(0o?)?[0-7]{3,4}$/.test(digits)) {
    throw new Hopeless(`Failed to write file "${path}": permissions "${digits}" are not octal digits`);
  }
  return parseInt(digits.replace("o", ""), 8);
}

function readCommands(value: unknown, source: string): string[] {
  return listOf(value, "runcmd", source).map((command) => Array.isArray(command) ? command.join(" ") : String(command));
}

function listOf(value: unknown, key: string, source: string): unknown[] {
  if (value === undefined || value === null) return [];
  if (!Array.isArray(value)) throw new Hopeless(`Failed to parse "${source}": ${key} is not a list`);
  return value;
}

/** Returns whether a parsed value is a map. */
export function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

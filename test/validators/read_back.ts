import { loadYaml } from "@kubernetes/client-node";
import type { OsFile, Phase } from "../../profiles/mod.ts";
import type { Machine } from "./matrix.ts";

interface ReadFile {
  path: string;
  mode: number;
  text: string;
}

/**
 * Returns the paths of files of the rendered config that a phase's user-data lacks or has with another content or mode.
 */
export function lostFiles({ config, userData }: Machine, phase: Phase): string[] {
  const read = config.provisioningUtility === "ignition" ? ignitionFiles(userData[phase]) : cloudFiles(userData[phase]);
  const lost = config[`${phase}Config`].files.filter((file) => !read.some((found) => isSame(file, found)));
  return lost.map(({ path }) => path);
}

function isSame({ path, permissions, content }: OsFile, found: ReadFile): boolean {
  const { data, encoding } = content.inline;
  // As in Operating System Manager, cloud-init's user-data loses the last newline of a file without an encoding.
  const isText = found.text === data || (encoding === undefined && `${found.text}\n` === data);
  return found.path === path && found.mode === Number.parseInt(String(permissions), 8) && isText;
}

function cloudFiles(userData: string): ReadFile[] {
  type Written = { path: string; permissions: string; encoding?: string; content?: string };
  const { write_files: written } = loadYaml<{ write_files?: Written[] | null }>(userData);
  return (written ?? []).map(({ path, permissions, encoding, content }) => {
    const text = content ?? "";
    const decoded = encoding === "b64" ? new TextDecoder().decode(Uint8Array.fromBase64(text)) : text;
    return { path, mode: Number.parseInt(permissions, 8), text: decoded };
  });
}

function ignitionFiles(userData: string): ReadFile[] {
  type Written = { path: string; mode: number; contents: { source: string } };
  const { storage }: { storage: { files: Written[] } } = JSON.parse(userData);
  return storage.files.map(({ path, mode, contents: { source } }) => {
    return { path, mode, text: decodeURIComponent(source.replace(/^data:,/, "")) };
  });
}

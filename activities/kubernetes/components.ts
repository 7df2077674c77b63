/** The components of a Kubernetes version: programs, each with its URL, hash and path on a node. */
import { createHash } from "node:crypto";
import { z } from "zod";
import { jsonIn } from "../os/verdict.ts";

/** The key of the ConfigMap whose value lists the components. */
export const componentsKey = "components";

/** A program that an upgrade installs. */
export interface Component {
  /** Path on the node. */
  path: string;
  /** "sha256:" and the hash of the content. */
  hash: string;
  url: string;
}

/** Maximum characters of a list. */
const longestList = 100_000;
/** The programs that an upgrade installs; archives, `data:` URLs and other programs are only for new machines. */
const installed = ["kubeadm", "kubelet", "kubectl"];
const needed = ["kubeadm", "kubelet"];

// Each field becomes an argument of a program that runs as root on a node. `deploy/kubernetes/hands/limit_hands.yaml`
// has the same patterns. URLs have no query: it could contain a credential, which every reader of pods would see.
const pathPattern = /^(\/[A-Za-z0-9_-][A-Za-z0-9._-]*){0,6}\/s?bin\/[a-z]+$/;
const hashPattern = /^sha256:[0-9a-f]{64}$/;
const urlPattern = /^https?:\/\/[A-Za-z0-9][A-Za-z0-9.-]*(:[0-9]{1,5})?(\/[A-Za-z0-9_~+-][A-Za-z0-9._~+-]*)+$/;

const text = z.string().max(1_000_000).default("");
const Entry = z.preprocess(
  withPlainKeys,
  z.object({
    url: text,
    hash: text,
    installpath: z.string().max(4_096).default(""),
    extract: z.boolean().default(false),
  }),
);
const List = z.array(Entry).max(100);

/** Returns the programs to install, in the order of the list; or the fault of the list, as the end of a sentence. */
export function componentsIn(list: string): { components: Component[] } | { fault: string } {
  const entries = list.length > longestList ? undefined : List.safeParse(jsonIn(list)).data;
  if (!entries) return { fault: `its key "${componentsKey}" is not a JSON list of components` };
  const components = entries.flatMap(({ url, hash, installpath: path, extract }): Component[] => {
    const isInstalled = !extract && !url.startsWith("data:") && installed.includes(nameOf(path));
    return isInstalled ? [{ path, hash, url }] : [];
  });
  const names = components.map(({ path }) => nameOf(path));
  const lacking = needed.find((name) => !names.includes(name));
  if (lacking) return { fault: `${lacking} is missing; list it with url, hash and installPath, and not as an archive` };
  const twice = names.find((name, at) => names.indexOf(name) !== at);
  if (twice) return { fault: `${twice} is listed twice` };
  const faults = components.map((component) => faultIn(component)).filter((fault) => fault !== "");
  return faults[0] === undefined ? { components } : { fault: faults[0] };
}

/**
 * Writes keys in lower case and without underscores, because versions of Constellation write "InstallPath",
 * "install_path" or "installPath", and Go's JSON ignores the case.
 */
function withPlainKeys(entry: unknown): unknown {
  if (typeof entry !== "object" || entry === null) return entry;
  return Object.fromEntries(Object.entries(entry).map(([key, value]) => [key.toLowerCase().replace("_", ""), value]));
}

function faultIn({ path, hash, url }: Component): string {
  const name = nameOf(path);
  if (!pathPattern.test(path)) return `the installPath of ${name} is not a plain path such as "/opt/bin/${name}"`;
  if (!hashPattern.test(hash)) return `the hash of ${name} is not "sha256:" and 64 hexadecimal digits`;
  if (url.length > 512 || !urlPattern.test(url)) {
    return `the URL of ${name} is not a plain http or https URL: a host and a path, without user, query and escapes`;
  }
  return "";
}

/** Returns the hash of a version and its components; upgrade steps that were planned for another hash are outdated. */
export function upgradeDigestOf(version: string, list: string): string {
  return createHash("sha256").update(JSON.stringify([version, list])).digest("hex");
}

function nameOf(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

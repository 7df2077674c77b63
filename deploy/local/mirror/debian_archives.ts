/** The Debian archives of this host's apt configuration, which are the only package source of machines. */
import process from "node:process";
import { runCommand } from "../tools/run_command.ts";

/** URLs of archives, without a trailing slash. */
export interface DebianArchives {
  readonly debian: string;
  readonly "debian-security": string;
  /** Proxy of apt, such as "http://proxy.example:3128"; undefined if apt connects directly. */
  readonly proxy?: string;
}

/** Runs a program and returns its standard output; undefined if the program is not installed or fails. */
type Ask = (program: string, args: readonly string[]) => Promise<string | undefined>;

/** Reads the archives from apt, which parses its own files; throws if apt has no Debian archive over http or https. */
export async function debianArchives(ask: Ask = askProgram): Promise<DebianArchives> {
  const fields = ["REPO_URI", "RELEASE", "COMPONENT", "LABEL"].map((name) => `$(${name})`).join("|");
  const targets = await ask("apt-get", ["indextargets", "--format", fields, "Created-By: Packages"]) ?? "";
  const archives = targets.split("\n").map(readTarget).filter(({ uri, component }) => {
    return component === "main" && /^https?:/.test(uri);
  });
  const debian = archives.find(isDebian)?.uri;
  if (debian === undefined) {
    throw new Error(
      "Failed to find the source of Debian packages: apt on this host has no archive of Debian over http or https",
    );
  }
  const security = archives.find(isSecurity)?.uri ?? debian.replace(/\/[^/]+$/, "/debian-security");
  const proxy = await proxyTo(debian, ask);
  return { debian, "debian-security": security, ...(proxy === undefined ? {} : { proxy }) };
}

/**
 * Matches URLs of snapshots of the archive `debian`; the URL of `debian-security` in the same snapshot differs only in
 * this name.
 */
export const snapshotForm = /^http\S*\/debian\/\d{8}T\d{6}Z$/;

/** Returns the archives as they were in a snapshot; returns `archives` unchanged if `snapshot` is "". */
export function archivesIn(archives: DebianArchives, snapshot: string): DebianArchives {
  if (snapshot === "") return archives;
  const security = snapshot.replace(/\/debian(?=\/[^/]+$)/, "/debian-security");
  return { ...archives, debian: snapshot, "debian-security": security };
}

interface Target {
  readonly uri: string;
  readonly release: string;
  readonly component: string;
  /** Label of the archive; empty until apt has fetched its lists. */
  readonly label: string;
}

function readTarget(line: string): Target {
  const [uri = "", release = "", component = "", label = ""] = line.split("|");
  return { uri: uri.replace(/\/+$/, ""), release, component, label };
}

function isDebian({ uri, release, label }: Target): boolean {
  return !release.includes("-") && (label === "Debian" || uri.endsWith("/debian"));
}

function isSecurity({ uri, release, label }: Target): boolean {
  return release.endsWith("-security") && (label === "Debian-Security" || uri.endsWith("/debian-security"));
}

async function proxyTo(archive: string, ask: Ask): Promise<string | undefined> {
  const scheme = new URL(archive).protocol.slice(0, -1);
  const told = await ask("apt-config", ["shell", "PROXY", `Acquire::${scheme}::Proxy`]) ?? "";
  const [, proxy = ""] = /^PROXY='(.*)'$/m.exec(told) ?? [];
  return proxy === "" || proxy === "DIRECT" ? undefined : proxy;
}

async function askProgram(program: string, args: readonly string[]): Promise<string | undefined> {
  const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
  const result = await runCommand({ program, args, env }).catch((error: unknown) => {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
  });
  return result?.code === 0 ? result.stdout : undefined;
}

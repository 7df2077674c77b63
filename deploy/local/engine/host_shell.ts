import { randomBytes } from "node:crypto";
import type { DockerApi } from "./docker_api.ts";

const repository = "ostler-host-shell";
// A tar archive that holds nothing ends with two blocks of zeros.
const emptyArchive = new Uint8Array(1024);
const programFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr"];
const scriptTimeoutMs = 30_000;

/** Runs a shell script in a privileged container on the host's network; returns what it printed, throws when it fails. */
export type HostShell = (script: string) => Promise<string>;

/** A shell that needs no image: its container is empty, and sees the host's own programs read-only. */
export function hostShell(api: DockerApi, labels: Readonly<Record<string, string>>): HostShell {
  return async (script) => {
    // A name of its own: another run's shell would remove one that all share before it is used.
    const tag = randomBytes(6).toString("hex");
    await api.post(`/images/create?fromSrc=-&repo=${repository}&tag=${tag}`, emptyArchive);
    const { Id } = await api.post<{ Id: string }>("/containers/create", {
      Image: `${repository}:${tag}`,
      Entrypoint: ["/bin/sh", "-c", script],
      Labels: labels,
      // A terminal, so that the log is the bare output and not frames.
      Tty: true,
      HostConfig: { Privileged: true, NetworkMode: "host", Binds: await programBinds() },
    });
    try {
      await api.post(`/containers/${Id}/start`);
      return await outcome(api, Id);
    } finally {
      await api.delete(`/containers/${Id}?force=1&v=1`);
      await api.delete(`/images/${repository}:${tag}`);
    }
  };
}

async function outcome(api: DockerApi, id: string): Promise<string> {
  const options = { timeoutMs: scriptTimeoutMs };
  const { StatusCode } = await api.post<{ StatusCode: number }>(`/containers/${id}/wait`, undefined, options);
  const output = (await api.get<string>(`/containers/${id}/logs?stdout=1&stderr=1`)).replaceAll("\r\n", "\n").trim();
  if (StatusCode !== 0) throw new Error(`a script in a privileged container ended with ${StatusCode}: "${output}"`);
  return output;
}

async function programBinds(): Promise<string[]> {
  const areThere = await Promise.all(
    programFolders.map((folder) => Deno.stat(folder).then(({ isDirectory }) => isDirectory, () => false)),
  );
  return programFolders.filter((_, index) => areThere[index]).map((folder) => `${folder}:${folder}:ro`);
}

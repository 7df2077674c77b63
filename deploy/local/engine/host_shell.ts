import { randomBytes } from "node:crypto";
import type { DockerApi } from "./docker_api.ts";

const repository = "ostler-host-shell";
// An empty tar archive consists of two blocks of zeros.
const emptyArchive = new Uint8Array(1024);
const programFolders = ["/bin", "/sbin", "/lib", "/lib32", "/lib64", "/usr"];
const scriptTimeoutMs = 30_000;

/** Runs a shell script in a privileged container in the host's network; returns its output, and throws if it fails. */
export type HostShell = (script: string) => Promise<string>;

/**
 * Returns a shell that pulls no image: its container starts from an empty image, and mounts the host's programs
 * read-only.
 */
export function hostShell(api: DockerApi, labels: Readonly<Record<string, string>>): HostShell {
  return async (script) => {
    // The image has a unique name, because another run's shell could remove a shared image before its use here.
    const tag = randomBytes(6).toString("hex");
    const image = `${repository}:${tag}`;
    await api.post(`/images/create?fromSrc=-&repo=${repository}&tag=${tag}`, emptyArchive);
    try {
      return await runIn(api, { image, script, labels });
    } finally {
      await api.delete(`/images/${image}`);
    }
  };
}

async function runIn(
  api: DockerApi,
  { image, script, labels }: { image: string; script: string; labels: Readonly<Record<string, string>> },
): Promise<string> {
  const { Id } = await api.post<{ Id: string }>("/containers/create", {
    Image: image,
    Entrypoint: ["/bin/sh", "-c", script],
    Labels: labels,
    // With a terminal, Docker's log of the container is the plain output; without a terminal, each part of the log has
    // a binary header.
    Tty: true,
    HostConfig: { Privileged: true, NetworkMode: "host", Binds: await programBinds() },
  });
  try {
    await api.post(`/containers/${Id}/start`);
    return await outcome(api, Id);
  } finally {
    await api.delete(`/containers/${Id}?force=1&v=1`);
  }
}

async function outcome(api: DockerApi, id: string): Promise<string> {
  const options = { timeoutMs: scriptTimeoutMs };
  const { StatusCode } = await api.post<{ StatusCode: number }>(`/containers/${id}/wait`, undefined, options);
  const output = (await api.get<string>(`/containers/${id}/logs?stdout=1&stderr=1`)).replaceAll("\r\n", "\n").trim();
  if (StatusCode !== 0) {
    throw new Error(`a script in a privileged container ended with exit code ${StatusCode}: "${output}"`);
  }
  return output;
}

async function programBinds(): Promise<string[]> {
  const areThere = await Promise.all(
    programFolders.map((folder) => Deno.stat(folder).then(({ isDirectory }) => isDirectory, () => false)),
  );
  return programFolders.filter((_, index) => areThere[index]).map((folder) => `${folder}:${folder}:ro`);
}

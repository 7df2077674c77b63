/** A real API server with its etcd and no controllers. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Supervisor } from "../../deploy/local/process/supervisor.ts";
import { ApiConnection } from "../../deploy/local/stack/api_connection.ts";
import { type ApiServer, startApiServer } from "../../deploy/local/stack/api_server.ts";
import { startEtcd } from "../../deploy/local/stack/stack.ts";
import { writeKubeconfig } from "../../deploy/local/stack/kubeconfig_file.ts";
import { createPki } from "../../deploy/local/stack/pki.ts";
import { resolveTools } from "../../deploy/local/tools/resolve_tools.ts";
import { toolNames } from "./world.ts";

/** Differences from the default server. */
export interface BareOptions {
  /** Path of another kube-apiserver binary. */
  readonly binary?: string;
  /** A minor version to emulate, such as `1.33`. */
  readonly emulatedVersion?: string;
}

/** The server with its administrator's credentials. */
export interface BareApi {
  readonly api: ApiConnection;
  readonly kubeconfig: string;
  readonly apiServer: ApiServer;
  readonly processes: Supervisor;
  /** Folder of the server's files, which is deleted when the server ends. */
  readonly directory: string;
}

/** Runs a test on a new API server, which no other test uses. */
export async function withApi(
  test: (server: BareApi) => Promise<void>,
  { binary, emulatedVersion }: BareOptions = {},
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "ostler-api-"));
  const supervisor = new Supervisor({ directory });
  try {
    const [found, pki] = await Promise.all([resolveTools(toolNames), createPki(join(directory, "pki"))]);
    const tools = binary === undefined ? found : { ...found, "kube-apiserver": binary };
    const foundation = {
      ...{ directory, tools, pki, supervisor, address: "127.0.0.1" },
      ...(emulatedVersion === undefined ? {} : { emulatedVersion }),
    };
    const apiServer = await startApiServer(foundation, await startEtcd(foundation));
    const admin = { apiServer, userName: "admin", credentials: pki.admin };
    const kubeconfig = await writeKubeconfig(join(directory, "admin.yaml"), admin);
    using api = await ApiConnection.open(kubeconfig);
    await test({ api, kubeconfig, directory, apiServer, processes: supervisor });
  } finally {
    await supervisor.stop();
    await rm(directory, { recursive: true, force: true });
  }
}

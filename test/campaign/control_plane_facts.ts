/** The externally visible state of control planes. */
import https from "node:https";
import type { CloudInstance } from "../../deploy/local/cloud/groups/group_cloud.ts";
import type { ControlPlanes } from "../support/kubeadm/control_planes.ts";
import type { World } from "../integration/world.ts";
import { control } from "./control_plane_world.ts";

export interface NodeFacts {
  metadata: { name: string; labels: Record<string, string>; annotations?: Record<string, string> };
  spec: { providerID?: string };
  status: { conditions?: { type: string; status: string }[] };
}

export async function readyNodes(world: World): Promise<NodeFacts[]> {
  const nodes = await world.list<NodeFacts>("/api/v1/nodes");
  return nodes.filter(({ status }) =>
    status.conditions?.some(({ type, status }) => type === "Ready" && status === "True") ?? false
  );
}

/** Returns the machines of control planes, without machines that are being deleted. */
export function planes({ groups }: ControlPlanes): CloudInstance[] {
  return groups.cloud.instances(control.id).filter(({ state }) => state !== "Terminating" && state !== "Terminated");
}

export interface EtcdMember {
  ID: string;
  /** Name of the member, which is the name of its node. */
  name: string;
  isLearner?: boolean;
}

/** Returns all etcd members, as reported by the first control plane that responds. */
export async function etcdMembers(ground: ControlPlanes): Promise<EtcdMember[]> {
  const { members } = await askEtcd(ground, "/v3/cluster/member/list", {}) as { members: EtcdMember[] };
  return members;
}

/** Calls etcd on the control planes, one after the other, until one of them answers. */
export async function askEtcd({ addresses, keys }: ControlPlanes, path: string, body: object): Promise<unknown> {
  const { "ca.crt": ca, "tls.crt": cert, "tls.key": key } = await keys.etcdClient("test");
  const asked = addresses.map((address) => async () => {
    const options = { method: "POST", ca, cert, key, agent: false as const, timeout: 5_000 };
    return await answerTo(`https://${address}:2379${path}`, options, JSON.stringify(body));
  });
  const errors: unknown[] = [];
  for (const ask of asked) {
    try {
      return JSON.parse(await ask());
    } catch (error) {
      errors.push(error);
    }
  }
  throw new AggregateError(errors, `Failed to read from etcd "${path}"`);
}

function answerTo(url: string, options: https.RequestOptions, body: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const request = https.request(url, options, (response) => {
      Array.fromAsync(response).then((chunks) => {
        const text = chunks.join("");
        if (response.statusCode === 200) resolve(text);
        else reject(new Error(`Failed to read "${url}": ${response.statusCode} ${text.slice(0, 300)}`));
      }, reject);
    });
    request.on("timeout", () => request.destroy(new Error(`Failed to read "${url}": no answer`)));
    request.on("error", reject).end(body);
  });
}

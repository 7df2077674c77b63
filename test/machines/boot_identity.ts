/** The permissions of a booting machine at the API server, and its requests. */
import type { V1ResourceRule } from "@kubernetes/client-node";
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { auditLogPath } from "../../deploy/local/stack/api_server.ts";
import { poolsPath } from "../integration/pool_objects.ts";
import type { Booted } from "./boot_pools.ts";
import { machineToken, namesIn } from "./published_boot.ts";

interface AuditEvent {
  verb: string;
  user: { username: string };
  sourceIPs: string[];
  objectRef?: { resource: string; namespace?: string; name?: string };
  responseStatus?: { code: number };
}

/**
 * Expects exactly three different requests of the machine with its token, and otherwise only certificate requests, in
 * the audit log, which records only machines that do not have a certificate yet.
 */
export async function checkRequests({ world, pool, machine }: Booted): Promise<void> {
  const names = namesIn(pool);
  const lines = (await readFile(auditLogPath(world.site.stack.directory), "utf8")).trim().split("\n");
  const events = lines.map((line) => JSON.parse(line) as AuditEvent)
    .filter(({ sourceIPs }) => sourceIPs.includes(machine.address));
  const account = `system:serviceaccount:cloud-init-settings:${names.identity}`;
  const expected = [
    `get secrets cloud-init-settings/${names.kubeletBootstrap} 200`,
    `get secrets cloud-init-settings/${names.provisioning} 200`,
    `patch configmaps cloud-init-settings/${names.bootReport} 200`,
  ];
  assert.deepEqual(asked(events, (user) => user === account), expected.sort());
  const others = events.map(({ user }) => user.username).filter((user) => user !== account);
  assert.match([...new Set(others)].join(), /^system:bootstrap:[a-z0-9]{6}$/);
  const kinds = new Set(
    events.filter(({ user }) => user.username !== account).map(({ objectRef }) => objectRef?.resource),
  );
  assert.deepEqual([...kinds], ["certificatesigningrequests"]);
}

function asked(events: AuditEvent[], isBy: (user: string) => boolean): string[] {
  const requests = events.filter(({ user }) => isBy(user.username)).map(({ verb, objectRef, responseStatus }) => {
    const { resource, namespace, name } = objectRef ?? {};
    return `${verb} ${resource} ${namespace}/${name} ${responseStatus?.code}`;
  });
  return [...new Set(requests)].sort();
}

/** The machine's token may do three things, and otherwise only what every account may. */
export async function checkRights(booted: Booted): Promise<void> {
  const names = namesIn(booted.pool);
  const own = await rightsIn(booted, "cloud-init-settings");
  assert.deepEqual(own, [
    {
      verbs: ["get"],
      apiGroups: [""],
      resources: ["secrets"],
      resourceNames: [names.provisioning, names.kubeletBootstrap],
    },
    { verbs: ["patch"], apiGroups: [""], resources: ["configmaps"], resourceNames: [names.bootReport] },
  ]);
  for (const namespace of ["default", "kube-system", "ostler-system"]) {
    assert.deepEqual(await rightsIn(booted, namespace), [], namespace);
  }
}

// Returns the permissions of the machine's token in a namespace, without the permissions to ask about itself, which
// every account has.
async function rightsIn(booted: Booted, namespace: string): Promise<V1ResourceRule[]> {
  const path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews";
  const { status, body } = await asMachine(booted, { method: "POST", path, body: { spec: { namespace } } });
  assert.equal(status, 201);
  const { resourceRules } = (body as { status: { resourceRules: V1ResourceRule[] } }).status;
  return resourceRules.filter(({ resources }) => !resources?.every((resource) => resource.startsWith("selfsubject")));
}

/** Sends each allowed request, and forbidden requests that a thief of the token could send. */
export async function checkCalls(booted: Booted, other: string): Promise<void> {
  const [names, foreign] = [namesIn(booted.pool), namesIn(other)];
  const settings = "/api/v1/namespaces/cloud-init-settings";
  const calls: [method: string, path: string, status: number][] = [
    ["GET", `${settings}/secrets/${names.provisioning}`, 200],
    ["GET", `${settings}/secrets/${names.kubeletBootstrap}`, 200],
    ["PATCH", `${settings}/configmaps/${names.bootReport}?dryRun=All`, 200],
    ["GET", `${settings}/configmaps/${names.bootReport}`, 403],
    ["GET", `${settings}/secrets/${names.bootstrap}`, 403],
    ["GET", `${settings}/secrets/${foreign.provisioning}`, 403],
    ["GET", `${settings}/secrets/${foreign.kubeletBootstrap}`, 403],
    ["PATCH", `${settings}/configmaps/${foreign.bootReport}?dryRun=All`, 403],
    ["PATCH", `${settings}/secrets/${names.provisioning}?dryRun=All`, 403],
    ["DELETE", `${settings}/secrets/${names.provisioning}?dryRun=All`, 403],
    ["GET", `${settings}/secrets`, 403],
    ["GET", "/api/v1/namespaces/kube-system/secrets", 403],
    ["GET", "/api/v1/nodes", 403],
    ["GET", poolsPath(), 403],
    ["POST", `${settings}/serviceaccounts/${names.identity}/token`, 403],
    ["POST", "/apis/certificates.k8s.io/v1/certificatesigningrequests?dryRun=All", 403],
  ];
  const answers = await Promise.all(calls.map(async ([method, path]) => {
    const body = ["POST", "PATCH"].includes(method) ? { body: {} } : {};
    return [method, path, (await asMachine(booted, { method, path, ...body })).status];
  }));
  assert.deepEqual(answers, calls);
}

interface MachineCall {
  method: string;
  path: string;
  body?: object;
  /** A token; by default the machine's own. */
  token?: string;
}

/** Calls the API server with the machine's token; a refusal is an answer too. */
export async function asMachine(
  { world, pool }: Booted,
  { method, path, body, token }: MachineCall,
): Promise<{ status: number; body: unknown }> {
  const { url, caPem } = world.site.stack.apiServer;
  using client = Deno.createHttpClient({ caCerts: [caPem] });
  const type = method === "PATCH" ? "application/merge-patch+json" : "application/json";
  const answer = await fetch(`${url}${path}`, {
    ...{ client, method },
    headers: { authorization: `Bearer ${token ?? await machineToken(world, pool)}`, "content-type": type },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: answer.status, body: await answer.json() };
}

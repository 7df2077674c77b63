/**
 * Operates the etcd of control planes, at the endpoints in Secret kube-system/ostler-etcd, or on the nodes if the
 * Secret has no endpoints. The client certificate is from the Secret in both cases.
 */
import { Context } from "@temporalio/activity";
import { createHash } from "node:crypto";
import type { EtcdPromotion, EtcdSurvey, SnapshotKeep, SnapshotTaken } from "../../workflows/contracts/mod.ts";
import { missing, unavailable } from "../failures.ts";
import type { Kube } from "../kube/client.ts";
import { readSecretTexts } from "../config/read_facts.ts";
import { type EtcdAccess, readEtcdAccess } from "./access.ts";
import type { Etcd } from "./etcd.ts";
import { folderSink } from "./folder_sink.ts";
import { moveLeadership } from "./leadership.ts";
import { promoteLearner, removeMember } from "./membership.ts";
import { isHealthyVoter } from "./quorum.ts";
import { type SnapshotSink, takeSnapshot } from "./snapshot.ts";
import { surveyEtcd } from "./survey.ts";
import { urlSink } from "./url_sink.ts";

/** The Secret in which administrators store the client certificate for etcd. */
export const accessSecret = { namespace: "kube-system", name: "ostler-etcd" };
const clientPort = 2379;

/** Reads the Secret for each operation, because its certificates may be renewed between two operations. */
export class EtcdOnNodes implements Etcd {
  constructor(readonly kube: Kube, readonly hosts: readonly string[]) {}

  async survey(): Promise<EtcdSurvey> {
    return (await this.#look()).survey;
  }

  async moveLeadership(from: string): Promise<void> {
    const { access, survey } = await this.#look();
    await moveLeadership(access, survey, from);
  }

  async removeMember(id: string): Promise<void> {
    const { access, survey } = await this.#look();
    await removeMember(access, survey, id);
  }

  async promoteLearner(id: string): Promise<EtcdPromotion> {
    const { access, survey } = await this.#look();
    return await promoteLearner(access, survey, id);
  }

  async keepSnapshot(
    { beside, name, keep }: { beside: string; name: string; keep: SnapshotKeep },
  ): Promise<SnapshotTaken> {
    const { access, survey } = await this.#look();
    // Prefers a follower, because the leader has the most load.
    const others = survey.members.filter((member) => member.id !== beside && isHealthyVoter(member, survey));
    const from = others.find(({ id }) => id !== survey.leader) ?? others[0];
    if (!from) throw unavailable(`Failed to take etcd snapshot "${name}": no member that can provide it is healthy`);
    const file = fileOf(name);
    const order = { name: file, sink: await this.#sinkOf(keep), progress: signsOfLife() };
    const { size, sha256 } = await takeSnapshot(access, from, order);
    const root = (keep.keep === "Folder" ? keep.folder : keep.url).replace(/\/+$/, "");
    return { digest: `sha256:${sha256}`, bytes: size, at: `${root}/${file}` };
  }

  async #look(): Promise<{ access: EtcdAccess; survey: EtcdSurvey }> {
    const access = await readEtcdAccess(this.kube, accessSecret);
    return { access, survey: await surveyEtcd(access, access.endpoints ?? this.hosts.map(endpointAt)) };
  }

  async #sinkOf(keep: SnapshotKeep): Promise<SnapshotSink> {
    if (keep.keep === "Folder") return folderSink(keep.folder);
    if (!keep.token) return urlSink(keep.url);
    const { namespace, name, key } = keep.token;
    const token = (await readSecretTexts(this.kube, { namespace, name }))?.texts[key];
    if (!token) {
      throw missing(`Failed to store an etcd snapshot: Secret "${namespace}/${name}" does not have key "${key}"`);
    }
    return urlSink(keep.url, { token });
  }
}

/** Maximum characters of the name of a snapshot in its file, and how many of them are its end, which is a time. */
const longest = { name: 190, end: 24 };

/**
 * Returns the name of a snapshot's file. Replaces characters that file names cannot have, because parts of the name
 * come from objects that others create. A name that is too long keeps its end, and gets a hash, so that no other
 * snapshot replaces its file.
 */
function fileOf(name: string): string {
  const plain = name.replaceAll(/[^A-Za-z0-9._-]/g, "-").replace(/^[^A-Za-z0-9]+/, "");
  if (plain.length <= longest.name) return `${plain}.db`;
  const end = `-${createHash("sha256").update(name).digest("hex").slice(0, 12)}-${plain.slice(-longest.end)}.db`;
  return `${plain.slice(0, longest.name - end.length)}${end}`;
}

/** Returns a callback that sends heartbeats of the activity, at most one in 3 s. */
function signsOfLife(): (bytes: number) => void {
  let told = 0;
  return (bytes) => {
    if (Date.now() < told + 3_000) return;
    told = Date.now();
    Context.current().heartbeat(`${bytes} bytes of a snapshot`);
  };
}

function endpointAt(host: string): string {
  return `https://${host.includes(":") ? `[${host}]` : host}:${clientPort}`;
}

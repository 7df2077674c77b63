/** What booting machines say about themselves; machines write it, so nothing in it is believed. */
import type { V1ConfigMap } from "@kubernetes/client-node";
import { randomInt } from "node:crypto";
import { z } from "zod";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { asMergePatch } from "../kube/client.ts";
import type { Kube } from "../kube/client.ts";
import { machines, readObject } from "../kube/resources.ts";
import { ifFound } from "../kube/status.ts";

/** The one line that each machine keeps under its own name. */
const BootReport = z.object({
  phase: z.enum(["bootstrap", "setup"]),
  step: z.string(),
  state: z.enum(["Running", "Failed", "Done"]),
  message: z.string().default(""),
  at: z.iso.datetime({ offset: true }).optional().catch(undefined),
});

const longestLine = 8192;
const longestMessage = 300;
/** Machines looked for in one pass; what is left is found by a later one. */
const lookedAt = 20;
/** A report this young stays, though no machine has its name: some clouds tell machines only a host name. */
const freshMs = 3_600_000;

type BootReport = z.infer<typeof BootReport>;

/** The last report under one of the names of a machine in words, or undefined when there is none that can be read. */
export async function lastBootReport(kube: Kube, pool: PoolRef, names: string[]): Promise<string | undefined> {
  const reports = (await readMap(kube, pool))?.data ?? {};
  const report = names.map((name) => parsed(reports[name])).find((each) => each !== undefined);
  if (!report) return undefined;
  const { phase, step, state, message, at } = report;
  const said = message ? `: ${harmless(message, longestMessage)}` : "";
  return `${phase} step "${harmless(step, 60)}" ${state.toLowerCase()}${at ? ` at ${at}` : ""}${said}`;
}

/** What it usually means that a machine with these addresses has booted and there is no report of it. */
export function silenceOf(addresses: string[]): string {
  const place = addresses.length === 0 ? "the machine" : addresses.join(" or ");
  return "it sent no boot report: most often it does not reach the API server, does not trust the certificate of that, " +
    `or has a token that is no longer valid; "journalctl -u bootstrap -u setup" on ${place} tells`;
}

/** Makes sure that machines have a place to report to, and forgets a few of those that are gone. */
export async function ensureBootReport(kube: Kube, pool: PoolRef): Promise<void> {
  const name = namesOf(pool).bootReport;
  const namespace = secretsNamespace;
  const map = await readMap(kube, pool);
  if (!map) {
    return void await kube.core.createNamespacedConfigMap({ namespace, body: { metadata: { name, namespace } } });
  }
  const gone = await goneOf(kube, pool, map.data ?? {});
  if (gone.length === 0) return;
  const data = Object.fromEntries(gone.map((key) => [key, null]));
  await kube.core.patchNamespacedConfigMap({ name, namespace, body: { data } }, asMergePatch);
}

async function goneOf(kube: Kube, pool: PoolRef, reports: Record<string, string>): Promise<string[]> {
  const keys = Object.keys(reports).filter((key) => !isFresh(reports[key]));
  const start = keys.length > lookedAt ? randomInt(keys.length - lookedAt + 1) : 0;
  const looked = await Promise.all(
    keys.slice(start, start + lookedAt).map(async (key) => await isMachine(kube, pool, key) ? [] : [key]),
  );
  return looked.flat();
}

function isFresh(line: string | undefined): boolean {
  const age = Date.now() - Date.parse(parsed(line)?.at ?? "");
  return age > -freshMs && age < freshMs;
}

// A key that no machine could have is not asked for: it could be a path of its own.
async function isMachine(kube: Kube, { namespace }: PoolRef, name: string): Promise<boolean> {
  if (!/^[a-z0-9]([a-z0-9.-]*[a-z0-9])?$/.test(name) || name.includes("..")) return false;
  return await ifFound(readObject(kube, machines, { namespace, name })) !== undefined;
}

function readMap(kube: Kube, pool: PoolRef): Promise<V1ConfigMap | undefined> {
  const where = { name: namesOf(pool).bootReport, namespace: secretsNamespace };
  return ifFound(kube.core.readNamespacedConfigMap(where));
}

function parsed(line = ""): BootReport | undefined {
  try {
    return line.length > longestLine ? undefined : BootReport.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined; // what cannot be read is no report
  }
}

// It ends up in Events and in pages that read Markdown; and a script may have printed what nobody should see.
function harmless(text: string, longest: number): string {
  const secrets = /eyJ[\w-]+\.[\w.-]*|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|(?<=bearer )\S+/gi;
  const plain = text.slice(0, longestLine).replaceAll(secrets, "(hidden)").replaceAll(/[\p{C}\p{Z}]+/gu, " ");
  const tame = plain.replaceAll(/[[{<]/g, "(").replaceAll(/[\]}>]/g, ")").replaceAll(/["`\\|]/g, "'");
  return tame.trim().slice(0, longest);
}

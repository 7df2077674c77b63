/** Boot reports of machines; machines write them, so their content is not trusted. */
import type { V1ConfigMap } from "@kubernetes/client-node";
import { z } from "zod";
import { namesOf, secretsNamespace } from "../../profiles/mod.ts";
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import type { Kube } from "../kube/client.ts";
import { ifFound } from "../kube/status.ts";

/** The report that a machine keeps in the ConfigMap under its own name, as one line of JSON. */
const BootReport = z.object({
  phase: z.enum(["bootstrap", "setup"]),
  step: z.string(),
  state: z.enum(["Running", "Failed", "Done"]),
  message: z.string().default(""),
  at: z.iso.datetime({ offset: true }).optional().catch(undefined),
});

const longestLine = 8192;
const longestMessage = 300;
const freshMs = 3_600_000;

type BootReport = z.infer<typeof BootReport>;

/**
 * Returns the last boot report of a machine as text: the first readable report that is stored under one of `names`, in
 * their order; undefined if there is none.
 */
export async function lastBootReport(kube: Kube, pool: PoolRef, names: string[]): Promise<string | undefined> {
  const reports = (await readReports(kube, pool))?.data ?? {};
  const report = names.map((name) => parsed(reports[name])).find((each) => each !== undefined);
  if (!report) return undefined;
  const { phase, step, state, message, at } = report;
  const said = message ? `: ${harmless(message, longestMessage)}` : "";
  return `${phase} step "${harmless(step, 60)}" ${state.toLowerCase()}${at ? ` at ${at}` : ""}${said}`;
}

/** Returns a text with the typical causes for a machine with these addresses that sent no boot report. */
export function silenceOf(addresses: string[]): string {
  const place = addresses.length === 0 ? "the machine" : addresses.join(" or ");
  return "the machine sent no boot report: most likely it cannot reach the API server, does not trust the API " +
    `server's certificate, or has an expired token; run "journalctl -u bootstrap -u setup" on ${place}`;
}

/**
 * Returns whether a report is less than an hour old. Such a report is kept even if no machine has the name under which
 * it is stored.
 */
export function isFresh(line: string | undefined): boolean {
  const age = Date.now() - Date.parse(parsed(line)?.at ?? "");
  return age > -freshMs && age < freshMs;
}

/** Reads the ConfigMap of the reports; undefined if it does not exist. Machines can write any content. */
export function readReports(kube: Kube, pool: PoolRef): Promise<V1ConfigMap | undefined> {
  const where = { name: namesOf(pool).bootReport, namespace: secretsNamespace };
  return ifFound(kube.core.readNamespacedConfigMap(where));
}

function parsed(line = ""): BootReport | undefined {
  try {
    return line.length > longestLine ? undefined : BootReport.safeParse(JSON.parse(line)).data;
  } catch {
    return undefined; // an unreadable line counts as absent
  }
}

// Hides tokens and replaces markup and control characters: the text is shown in Events and in pages that render
// Markdown, and a script may have printed secrets.
function harmless(text: string, longest: number): string {
  // A password in a URL may contain "/" and "@", so everything up to the last "@" of a word is hidden.
  const secrets = /eyJ[\w-]+\.[\w.-]*|\b[a-z0-9]{6}\.[a-z0-9]{16}\b|(?<=bearer )\S+|(?<=:\/\/)\S*(?=@)/gi;
  const plain = text.slice(0, longestLine).replaceAll(secrets, "(hidden)").replaceAll(/[\p{C}\p{Z}]+/gu, " ");
  const tame = plain.replaceAll(/[[{<]/g, "(").replaceAll(/[\]}>]/g, ")").replaceAll(/["`\\|]/g, "'");
  return tame.trim().slice(0, longest);
}

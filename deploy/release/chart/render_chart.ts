/** Renders deploy/chart with Helm, without a cluster. */
import { resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { definedVariables } from "../../local/tools/environment.ts";
import { runCommand } from "../../local/tools/run_command.ts";

/** The folder of the chart. */
export const chartFolder = fileURLToPath(new URL("../../chart", import.meta.url));

/** Arguments of a Helm command. */
export interface ChartOrder {
  /** Path of the Helm binary. */
  readonly helm: string;
  /** Namespace of the release; default `ostler-system`. */
  readonly namespace?: string;
  /** Values files, by absolute path or path below the chart; later files take precedence. */
  readonly values?: readonly string[];
  /** Single values in the format of `--set`; they take precedence over all files. */
  readonly set?: readonly string[];
  /** Folder or package of the chart; default `chartFolder`. */
  readonly chart?: string;
  /** Kubernetes version of the cluster; default is the version of Helm's Kubernetes modules. */
  readonly kubeVersion?: string;
  /** Environment variables in addition to those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** One rendered object, with its comments. */
interface RenderedObject {
  /** Path of the template below templates/. */
  readonly template: string;
  readonly text: string;
}

/**
 * Runs a Helm command on the chart, such as `template` or `install`; rejects with Helm's output if the command fails.
 */
export async function runHelm(command: readonly string[], order: ChartOrder): Promise<string> {
  const { helm, namespace = "ostler-system", values = [], set = [], chart = chartFolder, env } = order;
  const args = [
    ...command,
    chart,
    `--namespace=${namespace}`,
    ...values.map((file) => `--values=${resolve(chartFolder, file)}`),
    ...set.map((value) => `--set=${value}`),
  ];
  const { code, stdout, lines } = await runCommand({
    program: helm,
    args,
    env: definedVariables({ ...process.env, ...env }),
  });
  if (code !== 0) throw new Error(`Failed to run "helm ${command.join(" ")}": ${[stdout, ...lines].join("\n").trim()}`);
  return stdout;
}

const source = /^---\n# Source: ostler\/templates\/(\S+)\n/m;

/** Renders the chart; returns the objects in the order in which Helm installs them. */
export async function renderChart(order: ChartOrder): Promise<RenderedObject[]> {
  const version = order.kubeVersion === undefined ? [] : [`--kube-version=${order.kubeVersion}`];
  const [, ...parts] = (await runHelm(["template", "ostler", ...version], order)).split(source);
  return parts.flatMap((template, at) => at % 2 === 0 ? [{ template, text: parts[at + 1] ?? "" }] : []);
}

/** deploy/chart, rendered by Helm without a cluster. */
import { resolve } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { definedVariables } from "../../local/tools/environment.ts";
import { runCommand } from "../../local/tools/run_command.ts";

/** Folder of the chart. */
export const chartFolder = fileURLToPath(new URL("../../chart", import.meta.url));

/** What Helm is asked to render. */
export interface ChartOrder {
  /** Path of the binary. */
  readonly helm: string;
  /** `ostler-system` unless told. */
  readonly namespace?: string;
  /** Files of values, by their paths below the chart or from the root; later ones win. */
  readonly values?: readonly string[];
  /** Single values, as `--set` takes them; they win over all files. */
  readonly set?: readonly string[];
  /** Folder or package of the chart; `chartFolder` unless told. */
  readonly chart?: string;
  /** Version of the cluster; that of Helm's own modules unless told. */
  readonly kubeVersion?: string;
  /** Variables beside those of this process. */
  readonly env?: Readonly<Record<string, string>>;
}

/** One object, as the templates wrote it: comments count. */
export interface RenderedObject {
  /** Path of its template below templates/. */
  readonly template: string;
  readonly text: string;
}

/** Runs a command of Helm on the chart, such as `template` or `install`; rejects with what Helm says where it refuses. */
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
  if (code !== 0) throw new Error(`Cannot ${command.join(" ")} the chart: ${[stdout, ...lines].join("\n").trim()}`);
  return stdout;
}

const source = /^---\n# Source: ostler\/templates\/(\S+)\n/m;

/** Renders the chart; the objects come in the order in which Helm installs them. */
export async function renderChart(order: ChartOrder): Promise<RenderedObject[]> {
  const version = order.kubeVersion === undefined ? [] : [`--kube-version=${order.kubeVersion}`];
  const [, ...parts] = (await runHelm(["template", "ostler", ...version], order)).split(source);
  return parts.flatMap((template, at) => at % 2 === 0 ? [{ template, text: parts[at + 1] ?? "" }] : []);
}

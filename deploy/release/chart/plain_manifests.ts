/** Renders the manifests of deploy/kubernetes that depend on chart values, with `plainValues`. */
import { fileURLToPath } from "node:url";
import { type ChartOrder, renderChart } from "./render_chart.ts";

/** The folder of the manifests. */
export const plainFolder = fileURLToPath(new URL("../../kubernetes", import.meta.url));

/** Files of `plainFolder` by template; the chart reads other files of the folder, and adapts them to its values. */
const files: Readonly<Record<string, string>> = {
  "namespaces.yaml": "namespace.yaml",
  "controller.yaml": "controller.yaml",
  "worker.yaml": "worker.yaml",
  "setup.yaml": "setup/setup.yaml",
  "webhook.yaml": "webhook/webhook.yaml",
};

/**
 * Values that differ from the chart's defaults: namespaces, because `kubectl apply` creates none by itself; webhook and
 * setup, because their manifests are in folders of their own, and users decide which of these to apply.
 */
export const plainValues = ["namespaces.own=true", "webhook.enabled=true", "setup.enabled=true"] as const;

/** Returns the text of each file, by its path below deploy/kubernetes. */
export async function plainManifests(helm: ChartOrder["helm"]): Promise<Map<string, string>> {
  const objects = await renderChart({ helm, set: plainValues });
  return new Map(
    Object.entries(files).map(([template, file]) => {
      const texts = objects.filter((object) => object.template === template).map(({ text }) => text);
      return [
        file,
        `# Made from deploy/chart/templates/${template} by \`deno task manifests\`.\n${texts.join("---\n")}`,
      ];
    }),
  );
}

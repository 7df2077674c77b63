/** The settings of a process, read from the environment: the only place that looks at it. */
import { z } from "zod";

const text = z.string().trim();
const list = text.transform((value) => value.split(",").map((item) => item.trim()).filter(Boolean));
const truth = z.enum(["true", "false"]).transform((value) => value === "true");
const whole = z.coerce.number().int();

const Environment = z.object({
  KUBECONFIG: text.optional(),
  TEMPORAL_ADDRESS: text.default("127.0.0.1:7233"),
  TEMPORAL_NAMESPACE: text.default("default"),
  OSTLER_TASK_QUEUE: text.default("ostler"),
  /** Namespace of profiles and configs; Operating System Manager's flag of the same name. */
  OSTLER_NAMESPACE: text.default("kube-system"),
  /** Namespace of the controller's own lease. */
  OSTLER_SYSTEM_NAMESPACE: text.default("ostler-system"),
  OSTLER_IDENTITY: text.optional(),
  /** Probes come from outside the container. */
  OSTLER_HEALTH_HOST: text.default("0.0.0.0"),
  OSTLER_HEALTH_PORT: whole.min(0).max(65535).default(8081),
  /** Where the SDK serves its metrics, as address:port; empty serves none. */
  OSTLER_METRICS_ADDRESS: text.default(""),
  OSTLER_LOG_LEVEL: z.enum(["DEBUG", "INFO", "WARN", "ERROR"]).default("INFO"),
  /** A bundle made by `deno task bundle`; empty bundles at start. */
  OSTLER_WORKFLOW_BUNDLE: text.default(""),
  /** JSON with deadlines for every rollout, as in a rollout's input. */
  OSTLER_DEADLINES: text.default("{}").transform((value, context) => {
    try {
      return z.record(z.string(), z.union([z.string(), z.number()])).parse(JSON.parse(value));
    } catch {
      context.addIssue({ code: "custom", message: 'one JSON object such as {"drain": "30m"} is needed' });
      return z.NEVER;
    }
  }),
  /** Life of the credentials machines boot with; the API server issues none below ten minutes. */
  OSTLER_CREDENTIAL_SECONDS: whole.min(600).default(86_400),
  OSTLER_CLUSTER_DNS: list.default(["10.10.10.10"]),
  OSTLER_CLUSTER_DOMAIN: text.default("cluster.local"),
  OSTLER_EXTERNAL_CLOUD_PROVIDER: truth.default(false),
  OSTLER_INITIAL_TAINTS: text.default(""),
  OSTLER_NODE_HTTP_PROXY: text.default(""),
  OSTLER_NODE_NO_PROXY: text.default(".svc,.cluster.local,localhost,127.0.0.1"),
  OSTLER_PAUSE_IMAGE: text.default(""),
  OSTLER_BINARIES_URL: text.default(""),
});

export type Config = z.infer<typeof Environment>;

/** Parses the environment, or throws one error that names every wrong variable. */
export function readConfig(environment: Record<string, string | undefined>): Config {
  const given = Object.fromEntries(Object.entries(environment).filter(([, value]) => value !== ""));
  const parsed = Environment.safeParse(given);
  if (parsed.success) return parsed.data;
  const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
  throw new Error(`Cannot read the settings from the environment: ${faults.join("; ")}`);
}

/** Where probes are answered. */
export function healthPlace(config: Config): { host: string; port: number } {
  return { host: config.OSTLER_HEALTH_HOST, port: config.OSTLER_HEALTH_PORT };
}

import { z } from "zod";
import { formatGoDuration, parseGoDuration } from "./go_duration.ts";
import { ProfileRefused } from "./refusal.ts";

// The grammar of Kubernetes, in which kilo is a lower-case k, without signs.
const quantity = /^(?=\.?\d)\d*(\.\d*)?([numkMGTPE]|[KMGTPE]i|[eE][+-]?\d+)?$/;
const zero = /^[0.]+([a-zA-Z].*)?$/;
const percentage = /^(100|\d{1,2})(\.\d+)?%$/;
const resourceName = /^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$/i;

const resources = z.record(z.string().regex(resourceName), z.string().regex(quantity));
const evictionLimits = z.record(
  z.string().regex(resourceName),
  z.string().refine((text) => percentage.test(text) || quantity.test(text) && !zero.test(text)),
);
const decimals: Record<string, number> = { k: 3, M: 6, G: 9, T: 12, P: 15, E: 18 };
const goDuration = z.string().refine((text) => parseGoDuration(text) !== undefined);
const percent = z.int().min(0).max(100);

/** The kubelet settings of a MachineDeployment; durations are Go's, such as "36h0m0s". */
export const KubeletSettings = z.strictObject({
  systemReserved: resources.optional(),
  kubeReserved: resources.optional(),
  evictionHard: evictionLimits.optional(),
  containerLogMaxSize: z.string().refine(isLogSize).optional(),
  containerLogMaxFiles: z.int().min(2).optional(),
  maxPods: z.int().min(1).max(2 ** 31 - 1).optional(),
  imageGCHighThresholdPercent: percent.optional(),
  imageGCLowThresholdPercent: percent.optional(),
  imageMinimumGCAge: goDuration.optional(),
  imageMaximumGCAge: goDuration.optional(),
});
export type KubeletSettings = z.infer<typeof KubeletSettings>;

/**
 * Returns whether the kubelet takes a quantity as the size of a log: it must be in whole bytes, and have no fraction
 * before a binary suffix such as Gi.
 */
function isLogSize(text: string): boolean {
  if (!quantity.test(text)) return false;
  const [, fraction = "", suffix = ""] = /^\d*\.?(\d*)(.*)$/.exec(text) ?? [];
  if (suffix.endsWith("i")) return fraction === "";
  const exponent = decimals[suffix] ?? Number(/^[eE]([+-]?\d+)$/.exec(suffix)?.[1] ?? (suffix === "" ? 0 : -1));
  return exponent >= fraction.length;
}

/** The prefix of annotations that configure the kubelets of a MachineDeployment (from machine-controller's SDK). */
export const kubeletAnnotationPrefix = "v1.kubelet-config.machine-controller.kubermatic.io/";

interface Setting {
  field: keyof KubeletSettings;
  /** Whether an empty text means that the setting is not set. */
  mayBeEmpty?: true;
  read: (text: string) => unknown;
  wanted: string;
}

const reserved = {
  mayBeEmpty: true as const,
  read: (text: string) => pairs(text, "="),
  wanted: 'pairs such as "cpu=200m,memory=1Gi"',
};
const count = { read: (text: string) => (/^\d+$/.test(text) ? Number(text) : undefined), wanted: "a whole number" };
const age = { read: durationOf, wanted: 'a duration such as "36h" or "5m30s"' };

const known: Record<string, Setting> = {
  SystemReserved: { field: "systemReserved", ...reserved },
  KubeReserved: { field: "kubeReserved", ...reserved },
  EvictionHard: {
    field: "evictionHard",
    mayBeEmpty: true,
    read: (text) => pairs(text, "<"),
    wanted: 'pairs such as "memory.available<100Mi,nodefs.available<10%"',
  },
  ContainerLogMaxSize: { field: "containerLogMaxSize", read: (text) => text, wanted: 'a size such as "100Mi"' },
  ContainerLogMaxFiles: { field: "containerLogMaxFiles", ...count, wanted: "a whole number of at least 2" },
  MaxPods: { field: "maxPods", ...count },
  ImageGCHighThresholdPercent: { field: "imageGCHighThresholdPercent", ...count, wanted: "a number from 0 to 100" },
  ImageGCLowThresholdPercent: { field: "imageGCLowThresholdPercent", ...count, wanted: "a number from 0 to 100" },
  ImageMinimumGCAge: { field: "imageMinimumGCAge", ...age },
  ImageMaximumGCAge: { field: "imageMaximumGCAge", ...age },
};

/**
 * Returns the kubelet settings in the annotations of a MachineDeployment; throws ProfileRefused
 * (KubeletSettingsInvalid) for an invalid value.
 */
export function parseKubeletAnnotations(annotations: Record<string, string> | undefined): KubeletSettings {
  const found: Record<string, unknown> = {};
  for (const [key, value] of Object.entries(annotations ?? {})) {
    // Unknown keys are ignored, as in Operating System Manager, because another controller may use them.
    const setting = key.startsWith(kubeletAnnotationPrefix)
      ? known[key.slice(kubeletAnnotationPrefix.length)]
      : undefined;
    if (setting === undefined || (setting.mayBeEmpty && value.trim() === "")) continue;
    const parsed = KubeletSettings.shape[setting.field].safeParse(setting.read(value.trim()));
    if (!parsed.success || parsed.data === undefined) {
      throw new ProfileRefused(
        "KubeletSettingsInvalid",
        `Invalid annotation "${key}": value "${value}" must be ${setting.wanted}`,
      );
    }
    found[setting.field] = parsed.data;
  }
  return checked(found);
}

function checked(settings: KubeletSettings): KubeletSettings {
  // Thresholds and minimum have a default in the kubelet, which fails to start if they contradict each other.
  const { imageGCLowThresholdPercent: low = 80, imageGCHighThresholdPercent: high = 85 } = settings;
  const { imageMinimumGCAge, imageMaximumGCAge: oldest = "0s" } = settings;
  // A minimum of zero is not set.
  const youngest = imageMinimumGCAge === undefined || imageMinimumGCAge === "0s" ? "2m0s" : imageMinimumGCAge;
  const [least, most] = [youngest, oldest].map((text) => parseGoDuration(text) ?? 0) as [number, number];
  const fault = low >= high
    ? `thresholds: low threshold ${low} must be below high threshold ${high}`
    // A maximum of zero is none.
    : most > 0 && most <= least
    ? `ages: maximum ${oldest} must be above minimum ${youngest}`
    : undefined;
  if (fault === undefined) return settings;
  throw new ProfileRefused("KubeletSettingsInvalid", `Invalid image garbage collection ${fault}`);
}

function pairs(text: string, delimiter: string): Record<string, string> | undefined {
  const found: Record<string, string> = {};
  for (const pair of text.split(",").map((part) => part.trim()).filter((part) => part !== "")) {
    const at = pair.indexOf(delimiter);
    if (at < 1) return undefined;
    found[pair.slice(0, at).trim()] = pair.slice(at + 1).trim();
  }
  return Object.keys(found).length > 0 ? found : undefined;
}

function durationOf(text: string): string | undefined {
  const seconds = parseGoDuration(text);
  return seconds === undefined ? undefined : formatGoDuration(seconds);
}

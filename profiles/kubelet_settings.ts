import { z } from "zod";
import { formatGoDuration, parseGoDuration } from "./go_duration.ts";
import { ProfileRefused } from "./refusal.ts";

const quantity = /^\d+(\.\d+)?(m|k|[KMGTPE]i?|e\d+)?$/;
const percentage = /^(100|\d{1,2})(\.\d+)?%$/;
const resourceName = /^[a-z0-9]([-a-z0-9./]*[a-z0-9])?$/i;

const resources = z.record(z.string().regex(resourceName), z.string().regex(quantity));
const evictionLimits = z.record(
  z.string().regex(resourceName),
  z.string().refine((text) => quantity.test(text) || percentage.test(text)),
);
const goDuration = z.string().refine((text) => parseGoDuration(text) !== undefined);
const percent = z.int().min(0).max(100);

/** The kubelet settings of a MachineDeployment; durations are Go's, such as "36h0m0s". */
export const KubeletSettings = z.strictObject({
  systemReserved: resources.optional(),
  kubeReserved: resources.optional(),
  evictionHard: evictionLimits.optional(),
  containerLogMaxSize: z.string().regex(quantity).optional(),
  containerLogMaxFiles: z.int().min(2).optional(),
  maxPods: z.int().min(1).max(2 ** 31 - 1).optional(),
  imageGCHighThresholdPercent: percent.optional(),
  imageGCLowThresholdPercent: percent.optional(),
  imageMinimumGCAge: goDuration.optional(),
  imageMaximumGCAge: goDuration.optional(),
});
export type KubeletSettings = z.infer<typeof KubeletSettings>;

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
  // Both thresholds have a default in the kubelet, which fails to start unless the low one is below the high one.
  const { imageGCLowThresholdPercent: low = 80, imageGCHighThresholdPercent: high = 85 } = settings;
  if (low < high) return settings;
  throw new ProfileRefused(
    "KubeletSettingsInvalid",
    `Invalid image garbage collection thresholds: low threshold ${low} must be below high threshold ${high}`,
  );
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

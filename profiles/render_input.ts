import { z } from "zod";
import { KubeletSettings } from "./kubelet_settings.ts";
import { normaliseKubeletVersion } from "./kubelet_version.ts";

// Values end up in shell files, systemd units and TOML: what could end a word or a quote there is refused here.
const word = /^[A-Za-z0-9][A-Za-z0-9._-]*$/;
const url = z.string().regex(/^https?:\/\/[A-Za-z0-9._~:/?#@!&*+,;=%[\]-]+$/, "must be an http(s) address");
const baseUrl = url.transform((text) => text.replace(/\/+$/, ""));
const optionalText = (pattern: RegExp, message: string): z.ZodDefault<z.ZodString> =>
  z.string().refine((text) => text === "" || pattern.test(text), message).default("");
const name = z.string().regex(word, "must be a name");
const taint = /^[A-Za-z0-9./_-]+(=[A-Za-z0-9._-]*)?:(NoSchedule|PreferNoSchedule|NoExecute)$/;

/** Where programs come from; a mirror given as `baseUrl` serves the others too, under /containerd, /runc, /cni, /crictl. */
const Binaries = z.strictObject({
  baseUrl: baseUrl.optional(),
  containerd: baseUrl.optional(),
  runc: baseUrl.optional(),
  cni: baseUrl.optional(),
  crictl: baseUrl.optional(),
}).transform((given) => {
  const other = (path: string, origin: string): string =>
    given.baseUrl === undefined ? `https://github.com/${origin}/releases/download` : `${given.baseUrl}/${path}`;
  return {
    baseUrl: given.baseUrl ?? "https://dl.k8s.io",
    containerd: given.containerd ?? other("containerd", "containerd/containerd"),
    runc: given.runc ?? other("runc", "opencontainers/runc"),
    cni: given.cni ?? other("cni", "containernetworking/plugins"),
    crictl: given.crictl ?? other("crictl", "kubernetes-sigs/cri-tools"),
  };
});

/** All that a template may know, as `it`; nothing here is a secret. */
export const RenderInput = z.strictObject({
  name,
  namespace: name,
  kubelet: z.string().transform(normaliseKubeletVersion),
  cluster: z.strictObject({
    apiServer: url.refine((text) => text.startsWith("https://"), "must be an https address")
      .transform((text) => text.replace(/\/+$/, "")),
    caPem: z.string().regex(/^\s*-----BEGIN CERTIFICATE-----\s[\s\S]+-----END CERTIFICATE-----\s*$/, "must be PEM")
      .transform((text) => `${text.trim()}\n`),
    dnsIPs: z.array(z.union([z.ipv4(), z.ipv6()])),
    domain: name.default("cluster.local"),
  }),
  provider: z.strictObject({ name, external: z.boolean().default(false) }),
  operatingSystem: name,
  containerRuntime: z.literal("containerd").default("containerd"),
  secretName: name,
  secretNamespace: name.default("cloud-init-settings"),
  bootstrapKubeconfigSecret: name,
  sshKeys: z.array(z.string()).default([]),
  network: z.strictObject({ ipFamily: z.enum(["", "IPv4", "IPv6", "IPv4+IPv6", "IPv6+IPv4"]).default("") })
    .default({ ipFamily: "" }),
  taints: z.string().refine(areTaints, "must be taints such as key=value:NoSchedule").default(""),
  proxy: z.strictObject({
    http: optionalText(/^https?:\/\/[A-Za-z0-9._~:/@%[\]-]+$/, "must be an http(s) address"),
    no: optionalText(/^[A-Za-z0-9._:/,*[\]-]+$/, "must be hosts joined by commas"),
  }).default({ http: "", no: "" }),
  kubeletSettings: KubeletSettings.default({}),
  binaries: Binaries.default(Binaries.parse({})),
  pauseImage: optionalText(/^[A-Za-z0-9._:/@-]+$/, "must be an image"),
  distUpgradeOnBoot: z.boolean().default(false),
});
/** What a caller gives; what has a default may be left out. */
export type RenderInput = z.input<typeof RenderInput>;

function areTaints(text: string): boolean {
  return text === "" || text.split(",").every((one) => taint.test(one));
}

import type { NeededFields, ProviderValues } from "./provider_values.ts";

/** Writes one provider's cloud-config. */
export interface CloudConfigWriter {
  fields: NeededFields;
  /** Environment variables it looks at beside those that stand in for fields. */
  variables?: string[];
  /** `isPrerelease` tells of the kubelet. */
  write(values: ProviderValues, isPrerelease: boolean): string;
}

/** A text in gcfg, the INI of in-tree providers, which escapes nothing but these two. */
export function iniQuote(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** Decodes base64 as Go's encoding does; undefined when it is none. */
export function fromBase64(text: string): string | undefined {
  const joined = text.replace(/[\r\n]/g, "");
  const isBase64 = joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined);
  return isBase64 ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.fromBase64(joined)) : undefined;
}

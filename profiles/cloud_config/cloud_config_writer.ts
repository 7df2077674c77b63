import type { NeededFields, ProviderValues } from "./provider_values.ts";

/** Writes the cloud-config of one provider. */
export interface CloudConfigWriter {
  fields: NeededFields;
  /** Environment variables that the writer reads in addition to the fallbacks of fields. */
  variables?: string[];
  /** Returns the cloud-config; `isPrerelease` is whether the kubelet version is a pre-release. */
  write(values: ProviderValues, isPrerelease: boolean): string;
}

/** Quotes a text for gcfg, the INI format of in-tree providers, which escapes only backslashes and double quotes. */
export function iniQuote(text: string): string {
  return `"${text.replace(/[\\"]/g, "\\$&")}"`;
}

/** Decodes base64 as Go does; returns undefined if the text is not base64. */
export function fromBase64(text: string): string | undefined {
  const joined = text.replace(/[\r\n]/g, "");
  const isBase64 = joined.length % 4 === 0 && /^[A-Za-z0-9+/]*={0,2}$/.test(joined);
  return isBase64 ? new TextDecoder("utf-8", { ignoreBOM: true }).decode(Uint8Array.fromBase64(joined)) : undefined;
}

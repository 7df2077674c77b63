/**
 * Reads the certificate and the log entries of a keyless signature, from annotations of cosign or a Sigstore bundle.
 */
import { Buffer } from "node:buffer";
import { z } from "zod";
import { parseJson } from "../registry/manifest.ts";
import type { Certified, LogEntry } from "../signed.ts";
import { certificatesIn } from "./pem.ts";

/** Maximum number of authorities in a chain. */
const mostAuthorities = 4;
const mostEntries = 4;
const largestCertificate = 16_384;
const largestText = 131_072;

const certificate = "dev.sigstore.cosign/certificate";
const chain = "dev.sigstore.cosign/chain";
const bundle = "dev.sigstore.cosign/bundle";
const Annotations = z.object({
  [certificate]: z.string().max(largestCertificate),
  [chain]: z.string().max(mostAuthorities * largestCertificate).default(""),
  [bundle]: z.string().max(largestText).optional(),
});

const bytes = z.string().max(largestText).transform((text) => Buffer.from(text, "base64"));
const whole = z.number().int().nonnegative();
const LogBundle = z.object({
  SignedEntryTimestamp: bytes,
  Payload: z.object({ body: z.string(), integratedTime: whole, logIndex: whole, logID: z.string().max(128) }).loose(),
}).loose();

/** A number in protobuf's JSON, which omits 0. */
const long = z.union([whole, z.string().regex(/^\d{1,15}$/).transform(Number)]).default(0);
const Raw = z.object({ rawBytes: bytes.refine(({ length }) => length <= largestCertificate) }).loose();
const Entry = z.object({
  ...{ logIndex: long, integratedTime: long, canonicalizedBody: bytes },
  logId: z.object({ keyId: bytes }).loose(),
  inclusionPromise: z.object({ signedEntryTimestamp: bytes }).loose().optional(),
}).loose();
const Material = z.object({
  certificate: Raw.optional(),
  x509CertificateChain: z.object({ certificates: z.array(Raw).min(1).max(1 + mostAuthorities) }).loose().optional(),
  tlogEntries: z.array(Entry).max(mostEntries).default([]),
}).loose();

/** Returns the certificate in the annotations of a layer; "Unreadable" if it is invalid, undefined if there is none. */
export function carriedBeside(annotations: Readonly<Record<string, string>>): Certified | "Unreadable" | undefined {
  if (annotations[certificate] === undefined) return undefined;
  const read = Annotations.safeParse(annotations).data;
  const [leaf] = certificatesIn(read?.[certificate] ?? "", 1) ?? [];
  const authorities = certificatesIn(read?.[chain] ?? "", mostAuthorities);
  const entries = read?.[bundle] === undefined ? [] : entriesIn(read[bundle]);
  if (leaf === undefined || authorities === undefined || entries === undefined) return "Unreadable";
  return { leaf, chain: authorities, entries };
}

function entriesIn(text: string): LogEntry[] | undefined {
  const read = LogBundle.safeParse(parseJson(Buffer.from(text))).data;
  if (read === undefined) return undefined;
  const { SignedEntryTimestamp: promise, Payload: { body, integratedTime, logIndex, logID: logId } } = read;
  return [{ body, integratedTime, logIndex, logId, promise }];
}

/** Returns the certificate in a bundle's verification material; "Unreadable" if invalid, undefined if there is none. */
export function carriedIn(material: unknown): Certified | "Unreadable" | undefined {
  const names = typeof material === "object" && material !== null ? Object.keys(material) : [];
  if (!names.includes("certificate") && !names.includes("x509CertificateChain")) return undefined;
  const read = Material.safeParse(material).data;
  const chained = read?.certificate ? [read.certificate] : read?.x509CertificateChain?.certificates ?? [];
  const [leaf, ...authorities] = chained.map(({ rawBytes }) => rawBytes);
  if (read === undefined || leaf === undefined) return "Unreadable";
  return { leaf, chain: authorities, entries: read.tlogEntries.map(entryOf) };
}

function entryOf({ canonicalizedBody, logId, inclusionPromise, ...numbers }: z.infer<typeof Entry>): LogEntry {
  const { integratedTime, logIndex } = numbers;
  const promise = inclusionPromise?.signedEntryTimestamp;
  const body = canonicalizedBody.toString("base64");
  return { body, integratedTime, logIndex, logId: logId.keyId.toString("hex"), promise };
}

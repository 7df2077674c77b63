/** How the text of a setting becomes a value; the messages say what is wanted. */
import { X509Certificate } from "node:crypto";
import { z } from "zod";

export const text = z.string();

/** Items joined by commas; spaces around them do not count. */
export const commaList = text.transform((value) => splitBy(value, ","));

/** Items joined by white space. */
export const spacedList = text.transform((value) => splitBy(value, /\s+/));

const truths: Record<string, boolean> = { "1": true, t: true, true: true, "0": false, f: false, false: false };

/** What Go's flags take for a truth value. */
export const truth = readBy((value) => truths[value.toLowerCase()], "must be true or false");

/** Text that may be empty, else must fit. */
export function optional(pattern: RegExp, wanted: string): z.ZodType<string, string> {
  return text.refine((value) => value === "" || pattern.test(value), wanted);
}

/** A whole number within bounds. */
export function wholeNumber(min: number, max: number): z.ZodType<number, string> {
  const read = (value: string): number | undefined => {
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    return number >= min && number <= max ? number : undefined;
  };
  return readBy(read, max < Infinity ? `must be from ${min} to ${max}` : `must be at least ${min}`);
}

/** Pairs such as `a=true,b=false`; empty is none. */
export const truthPairs: z.ZodType<Record<string, boolean>, string> = readBy((value) => {
  const pairs = splitBy(value, ",").map((pair) => /^([^=\s]+)=(.+)$/.exec(pair));
  const read = pairs.map((match): [string, boolean | undefined] => [
    match?.[1] ?? "",
    truths[match?.[2]?.toLowerCase() ?? ""],
  ]);
  const whole = read.filter((pair): pair is [string, boolean] => pair[1] !== undefined);
  return whole.length === pairs.length ? Object.fromEntries(whole) : undefined;
}, "must be pairs such as GateA=true,GateB=false");

/** Certificates in PEM, at least one; or nothing. */
export const certificates = text.refine((pem) => pem === "" || hasCertificate(pem), "must hold a certificate in PEM");

/** A reading that fails with undefined. */
export function readBy<T>(read: (text: string) => T | undefined, wanted: string): z.ZodType<T, string> {
  return text.transform((value, context) => {
    const found = read(value.trim());
    if (found !== undefined) return found;
    context.addIssue({ code: "custom", message: wanted });
    return z.NEVER;
  });
}

function splitBy(value: string, separator: string | RegExp): string[] {
  return value.split(separator).map((item) => item.trim()).filter(Boolean);
}

function hasCertificate(pem: string): boolean {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[\s\S]+?-----END CERTIFICATE-----/g) ?? [];
  return blocks.length > 0 && blocks.every(isCertificate);
}

function isCertificate(pem: string): boolean {
  try {
    return new X509Certificate(pem).subject !== undefined;
  } catch {
    return false;
  }
}

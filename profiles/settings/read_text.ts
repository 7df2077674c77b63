/** Schemas that turn the text of a setting into a value; their messages say what would be accepted. */
import { X509Certificate } from "node:crypto";
import { z } from "zod";

export const text = z.string();

/** Items separated by commas, without the spaces around them. */
export const commaList = text.transform((value) => splitBy(value, ","));

/** Items separated by white space. */
export const spacedList = text.transform((value) => splitBy(value, /\s+/));

const truths: Record<string, boolean> = { "1": true, t: true, true: true, "0": false, f: false, false: false };

/** A boolean in the forms that Go's flags accept. */
export const truth = readBy((value) => truths[value.toLowerCase()], "must be true or false");

/** Returns a schema for text that is empty or matches the pattern. */
export function optional(pattern: RegExp, wanted: string): z.ZodType<string, string> {
  return text.refine((value) => value === "" || pattern.test(value), wanted);
}

/** Returns a schema for a whole number within bounds. */
export function wholeNumber(min: number, max: number): z.ZodType<number, string> {
  const read = (value: string): number | undefined => {
    const number = /^\d+$/.test(value) ? Number(value) : NaN;
    return number >= min && number <= max ? number : undefined;
  };
  return readBy(read, max < Infinity ? `must be from ${min} to ${max}` : `must be at least ${min}`);
}

/** Pairs such as `a=true,b=false`; empty text has no pairs. */
export const truthPairs: z.ZodType<Record<string, boolean>, string> = readBy((value) => {
  const pairs = splitBy(value, ",").map((pair) => /^([^=\s]+)=(.+)$/.exec(pair));
  const read = pairs.map((match): [string, boolean | undefined] => [
    match?.[1] ?? "",
    truths[match?.[2]?.toLowerCase() ?? ""],
  ]);
  const whole = read.filter((pair): pair is [string, boolean] => pair[1] !== undefined);
  return whole.length === pairs.length ? Object.fromEntries(whole) : undefined;
}, "must be pairs such as GateA=true,GateB=false");

/** Empty text, or at least one certificate in PEM. */
export const certificates = text.refine((pem) => pem === "" || hasCertificate(pem), "must hold a certificate in PEM");

/** Returns a schema for what `read` returns; text for which `read` returns undefined is invalid. */
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

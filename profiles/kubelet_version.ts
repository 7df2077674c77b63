import { ProfileRefused } from "./refusal.ts";

/** The Kubernetes minors that our profiles are written for. */
export const supportedMinors = [33, 34, 35, 36];

const version = /^v?(\d{1,4})\.(\d{1,4})(?:\.(\d{1,4})((?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?))?$/;

/** Gives "v1.36.1" for "1.36.1" and "v1.36.0" for "1.36"; throws ProfileRefused (KubeletVersionInvalid) for all else. */
export function normaliseKubeletVersion(text: string): string {
  const match = version.exec(text.trim());
  const supported = `supported are 1.${supportedMinors[0]} to 1.${supportedMinors.at(-1)}`;
  if (match === null) {
    const state = text === "" ? "none is given" : "it is no version";
    throw new ProfileRefused("KubeletVersionInvalid", `Cannot use kubelet version "${text}": ${state}; ${supported}`);
  }
  const [, major, minor, patch = "0", rest = ""] = match.map((part) => part ?? undefined);
  if (Number(major) !== 1 || !supportedMinors.includes(Number(minor))) {
    throw new ProfileRefused("KubeletVersionInvalid", `Cannot use kubelet version "${text}": ${supported}`);
  }
  return `v1.${Number(minor)}.${Number(patch)}${rest}`;
}

/** The wishes of people about the renewal of certificates, on a NodeVersion; pure. */

/** On a NodeVersion: "Off" turns the renewal of certificates off, and any other new value asks for another attempt. */
export const renewalAnnotation = "ostler.dev/renew-certificates";
/** The condition of a NodeVersion, and its reason after a person has cancelled the run. */
export const renewalCondition = { type: "CertificatesRenewed", cancelled: "RenewalCancelled" };
/** Characters of the annotation that count, as the result is stored in a history. */
const longestSetting = 200;

interface Said {
  metadata: { generation?: number | undefined; annotations?: Readonly<Record<string, string>> | undefined };
  status?: { conditions: readonly { type: string; reason: string; message: string; observedGeneration?: unknown }[] };
}

/** Returns the value of the annotation; "" for none. */
export function settingOf({ metadata }: Pick<Said, "metadata">): string {
  return (metadata.annotations?.[renewalAnnotation] ?? "").slice(0, longestSetting);
}

/** Returns the end of the message of a cancellation, by which `isHeldBack` recognizes the setting of that time. */
export function cancelledWith(setting: string): string {
  const state = setting === "" ? "that is not set" : `that was ${JSON.stringify(setting)}`;
  return `; to allow it again, set annotation ${renewalAnnotation}, ${state}, to a new value`;
}

/** Returns whether a person keeps the renewal from beginning: a cancellation counts until a person changes something. */
export function isHeldBack(version: Said): boolean {
  const setting = settingOf(version);
  if (setting === "Off") return true;
  const told = version.status?.conditions.find(({ type }) => type === renewalCondition.type);
  if (told?.reason !== renewalCondition.cancelled) return false;
  return told["observedGeneration"] === version.metadata.generation && told.message.endsWith(cancelledWith(setting));
}

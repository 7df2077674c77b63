/** The tags of the installed versions of Ostler: that of the chart, and a next one. */
import manifest from "../../../package.json" with { type: "json" };

/** The repository of Ostler's image in a registry. */
export const repository = "ostler";

export const ownVersion: string = manifest.version;

/** Tag for the same files as a next version. */
export const nextVersion = ownVersion.replace(/\d+$/, (patch) => String(Number(patch) + 1));

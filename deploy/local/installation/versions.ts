/** The versions of Ostler that are installed, by their tags: that of the chart, and one to come. */
import manifest from "../../../package.json" with { type: "json" };

/** The repository of its image in a registry. */
export const repository = "ostler";

export const ownVersion: string = manifest.version;

/** The same files, as if they were those of the version after. */
export const nextVersion = ownVersion.replace(/\d+$/, (patch) => String(Number(patch) + 1));

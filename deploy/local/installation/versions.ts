/** The tags of the installed versions of Ostler: the version of the chart, and the next version. */
import manifest from "../../../package.json" with { type: "json" };

/** The repository of Ostler's image in a registry. */
export const repository = "ostler";

export const ownVersion: string = manifest.version;

/** Tag under which the same files are installed as the next version. */
export const nextVersion = ownVersion.replace(/\d+$/, (patch) => String(Number(patch) + 1));

/**
 * The ground, which is the environment of machines, for the story that installs Ostler. It has an image of Ostler that
 * the machines can pull, and Temporal on PostgreSQL if PostgreSQL is installed on this host.
 */
import { join } from "node:path";
import { nextVersion, ownVersion, repository } from "../installation/versions.ts";
import { makeOstlerLayout } from "../installation/ostler_layout.ts";
import { findPostgres, lendTemporal, type LentTemporal } from "../stack/lent_temporal.ts";
import { containerGround, type Ground, type GroundOptions, machinesFolder, type Premises } from "./ground.ts";

interface InstalledOptions extends GroundOptions {
  readonly tools: Premises["tools"];
  /** The directory for the image; the caller removes it. */
  readonly directory: string;
}

/**
 * Builds the image of Ostler, and returns an environment (ground) whose machines can pull the image as two versions.
 */
export async function installedGround({ tools, directory, ...ground }: InstalledOptions): Promise<Ground> {
  const { options, onProgress, signal } = ground;
  onProgress("Building the image of Ostler");
  const engine = { install: options.installDocker, directory: join(machinesFolder(), "docker"), onProgress, signal };
  const folder = join(directory, "layout");
  await makeOstlerLayout({ engine, version: ownVersion, folder });
  const temporal = await ownTemporal(onProgress);
  const layouts = [{ folder, repository, tags: [ownVersion, nextVersion] }];
  const opened = await containerGround({ ...ground, layouts });
  const stop = async (): Promise<void> => {
    await opened.stop();
    await temporal?.remove();
  };
  return { ...opened, stop, premises: { host: opened.host, tools, ...(temporal && { temporal }) } };
}

async function ownTemporal(onProgress: (text: string) => void): Promise<LentTemporal | undefined> {
  const postgres = await findPostgres();
  if (postgres !== undefined) return await lendTemporal(postgres);
  onProgress("PostgreSQL is not installed: using Temporal's dev server");
  return undefined;
}

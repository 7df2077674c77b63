/** Whose an artefact is: names of two pools can collide, and then neither may overwrite the other. */
import type { PoolRef } from "../../workflows/contracts/mod.ts";
import { refused } from "../failures.ts";
import { ownerAnnotation } from "./names.ts";

/** The owner as written on artefacts. */
export function ownerOf(pool: PoolRef): string {
  return `${pool.namespace}/${pool.name}`;
}

/** Refuses to touch what another pool published; artefacts without an owner are taken over. */
export function claim(pool: PoolRef, what: string, annotations: Record<string, string> | undefined): void {
  const owner = annotations?.[ownerAnnotation];
  if (owner === undefined || owner === ownerOf(pool)) return;
  throw refused(
    "NameCollision",
    `Cannot publish ${what} for "${ownerOf(pool)}": MachineDeployment "${owner}" already owns that name; rename one`,
  );
}

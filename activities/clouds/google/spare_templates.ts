/** Deletes instance templates that Ostler made for this cluster and no group of the project uses. */
import type { compute_v1 } from "@googleapis/compute";
import { spareTemplates } from "../spare_templates.ts";
import type { GoogleApi } from "./api.ts";
import { clusterLabel } from "./group.ts";
import type { GoogleGroups } from "./groups.ts";
import type { GoogleManagers } from "./managers.ts";
import { groupPlaceOf, lastOf, pathOf } from "./paths.ts";
import { isOwnName, templateOf } from "./templates.ts";

type Template = compute_v1.Schema$InstanceTemplate;

interface Ground {
  groups: GoogleGroups;
  managers: GoogleManagers;
  clusterTag: string;
  keep: readonly string[];
}

/**
 * Deletes unused, old templates of this cluster, except those in `keep` and the newest of each base name. Google itself
 * also refuses to delete a template that a group uses.
 */
export async function deleteSpareTemplates(
  api: GoogleApi,
  { groups, managers, clusterTag, keep }: Ground,
): Promise<void> {
  const [{ managers: all, isComplete }, own] = [await managers.list(), await groups.list()];
  // A group that is missing in an incomplete list could use any template.
  if (!isComplete || !own.isComplete) return;
  const ids = new Set(own.groups.map(({ id }) => id.toLowerCase()));
  const booted = all.filter(({ selfLink }) => {
    const place = groupPlaceOf(selfLink ?? "", api.project);
    return place && ids.has(pathOf(selfLink).toLowerCase());
  }).map(templateOf);
  const used = new Set([
    ...keep,
    ...all.flatMap(({ versions = [], instanceTemplate }) => [
      pathOf(instanceTemplate),
      ...versions.map((each) => pathOf(each.instanceTemplate)),
    ]),
  ]);
  for (const region of new Set(booted.map(regionOf))) {
    const listed = (await list(api, region)).filter(({ name, properties }) =>
      isOwnName(name ?? "") && properties?.labels?.[clusterLabel] === clusterTag
    );
    for (const alike of Map.groupBy(listed, ({ name }) => (name ?? "").replace(/-o[0-9a-f]+$/, "")).values()) {
      const found = alike.map(({ selfLink, creationTimestamp }) => ({
        id: pathOf(selfLink),
        since: Date.parse(creationTimestamp ?? "") || Infinity,
      }));
      for (const id of spareTemplates(found, { used, now: Date.now() })) await remove(api, id, region);
    }
  }
}

/** Returns the region of a template; "" for a global one. */
function regionOf(path: string): string {
  return /\/regions\/([^/]+)\//.exec(path)?.[1] ?? "";
}

function list(api: GoogleApi, region: string): Promise<Template[]> {
  // Excludes metadata, which contains secrets.
  const asked = {
    project: api.project,
    fields: "items(name,selfLink,creationTimestamp,properties(labels)),nextPageToken",
  };
  return api.all<{ items?: Template[]; nextPageToken?: string | null }, Template>({
    attempt: "list instance templates",
    page: ({ instanceTemplates, regionInstanceTemplates }, next, options) =>
      region === ""
        ? instanceTemplates.list({ ...asked, ...next }, options)
        : regionInstanceTemplates.list({ ...asked, region, ...next }, options),
    of: ({ items }) => items ?? [],
  });
}

/** Deletes a template; if Google refuses, the template remains, because a group may have begun to use it. */
async function remove(api: GoogleApi, path: string, region: string): Promise<void> {
  const asked = { project: api.project, instanceTemplate: lastOf(path) };
  await api.change({
    attempt: `delete template "${path}"`,
    call: ({ instanceTemplates, regionInstanceTemplates }, options) =>
      region === ""
        ? instanceTemplates.delete(asked, options)
        : regionInstanceTemplates.delete({ ...asked, region }, options),
  });
}

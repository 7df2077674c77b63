/** Columns of the run list for runs of what is in no namespace. */
import { TypedSearchAttributes } from "@temporalio/common";
import { searchAttributes } from "../workflows/status/search_attributes.ts";

/** The cluster that a run is of, where it has a name. */
export function shownOf(cluster: string): { typedSearchAttributes?: TypedSearchAttributes } {
  if (cluster === "") return {};
  return { typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.cluster, value: cluster }]) };
}

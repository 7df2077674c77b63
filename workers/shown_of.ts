/** Search attributes for runs of cluster-scoped objects. */
import { TypedSearchAttributes } from "@temporalio/common";
import { searchAttributes } from "../workflows/status/search_attributes.ts";

/** Returns the search attribute of the run's cluster; none for a cluster without a name. */
export function shownOf(cluster: string): { typedSearchAttributes?: TypedSearchAttributes } {
  if (cluster === "") return {};
  return { typedSearchAttributes: new TypedSearchAttributes([{ key: searchAttributes.cluster, value: cluster }]) };
}

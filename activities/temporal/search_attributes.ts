/** Registers the columns of the run list on the Temporal server, unless they exist. */
import type { NativeConnection } from "@temporalio/worker";

/** Status codes of gRPC. */
const [alreadyExists, invalidArgument] = [6, 3];
/** Temporal's number of type keyword (temporal.api.enums.v1.IndexedValueType). */
const keyword = 2;

export type SearchService = Pick<NativeConnection, "operatorService" | "workflowService">;

/** The namespace of the runs, and the columns (search attributes) that Ostler fills, from `columnsOf`. */
interface RunList {
  namespace: string;
  columns: readonly string[];
}

/**
 * Registers the search attributes that do not exist. If Temporal refuses to register one, as a managed server may, the
 * attribute counts as registered if queries can use it. Otherwise throws an error with the command that an
 * administrator must run, because no run can be started without its search attributes.
 */
export async function ensureSearchAttributes(service: SearchService, list: RunList): Promise<void> {
  const missing: string[] = [];
  let reason: unknown;
  for (const name of list.columns) {
    try {
      await register(service, list.namespace, name);
    } catch (error) {
      if (await isKnown(service, list.namespace, name)) continue;
      reason ??= error;
      missing.push(name);
    }
  }
  if (missing.length > 0) throw new Error(whatToDo(list.namespace, missing), { cause: reason });
}

/** Returns the columns that do not exist yet. */
export async function missingColumns(
  service: Pick<SearchService, "workflowService">,
  list: RunList,
): Promise<string[]> {
  const missing: string[] = [];
  for (const name of list.columns) {
    if (!await isKnown(service, list.namespace, name)) missing.push(name);
  }
  return missing;
}

async function register({ operatorService }: SearchService, namespace: string, name: string): Promise<void> {
  try {
    await operatorService.addSearchAttributes({ namespace, searchAttributes: { [name]: keyword } });
  } catch (error) {
    if (codeOf(error) !== alreadyExists) throw error;
  }
}

// The visibility store refuses a query on a column that it does not have.
async function isKnown(
  { workflowService }: Pick<SearchService, "workflowService">,
  namespace: string,
  name: string,
): Promise<boolean> {
  try {
    await workflowService.listWorkflowExecutions({ namespace, pageSize: 1, query: `${name} = "none"` });
    return true;
  } catch (error) {
    if (codeOf(error) === invalidArgument) return false;
    throw error;
  }
}

function whatToDo(namespace: string, missing: string[]): string {
  const names = missing.map((name) => `"${name}"`).join(", ");
  const options = missing.map((name) => `--name ${name} --type Keyword`).join(" ");
  return `Failed to register the search attributes ${names} in Temporal's namespace "${namespace}"; an administrator must ` +
    `run \`temporal operator search-attribute create --namespace ${namespace} ${options}\``;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

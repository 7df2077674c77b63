/** Registers the columns of the run list on the Temporal server, or finds that somebody else has. */
import type { NativeConnection } from "@temporalio/worker";

/** gRPC's numbers. */
const [alreadyExists, invalidArgument] = [6, 3];
/** Temporal's number for a keyword (temporal.api.enums.v1.IndexedValueType). */
const keyword = 2;

export type SearchService = Pick<NativeConnection, "operatorService" | "workflowService">;

/** Where runs are listed, and the columns that ours fill: `columnsOf`. */
export interface RunList {
  namespace: string;
  columns: readonly string[];
}

/**
 * Makes sure that every search attribute exists. Who may not register them, as on a server that others look after, goes
 * on where queries already know them; else fails with what somebody has to do, as no run could be started.
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

/** The columns that are not there yet. */
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

// The visibility store refuses a query about a column that it does not have.
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
  return `Cannot register the search attributes ${names} in Temporal's namespace "${namespace}": somebody who may has to ` +
    `run \`temporal operator search-attribute create --namespace ${namespace} ${options}\``;
}

function codeOf(error: unknown): unknown {
  return (error as { code?: unknown }).code;
}

/** Tells people where the run stands: the web UI's page, the search attributes, the Rollout object and Events. */
import { setCurrentDetails, upsertSearchAttributes, workflowInfo } from "@temporalio/workflow";
import type { HistoryEntry, PoolEvent, PublishActivities, RolloutReport } from "../contracts/mod.ts";
import type { Turn } from "../policy/turn.ts";
import { publish } from "../proxies.ts";
import type { Either } from "../proxies.ts";
import type { Seen, Telling } from "../state/rollout.ts";
import type { Standing } from "../state/view.ts";
import { troubleOf } from "../steps/trouble.ts";
import { describe } from "./describe.ts";
import { details } from "./page/details.ts";
import { reportOf } from "./report_of.ts";
import { searchAttributes } from "./search_attributes.ts";
import { standingOf } from "./standing.ts";

/** What a report brings that the state does not say. */
export interface News {
  events?: PoolEvent[];
  history?: HistoryEntry;
  convergedTemplateHash?: string;
}

/** Who writes a report: a step beside others, or one of its own while nothing is under way. */
export type Teller = Pick<Either<PublishActivities>, "ensureRolloutReported">;

/** Changes the standing and shows it in the web UI only; for states in which Kubernetes may be out of reach. */
export function stand(rollout: Telling, standing: Omit<Standing, "since">): void {
  const { view } = rollout;
  const before = view.standing;
  const same = before.phase === standing.phase && before.reason === standing.reason;
  view.standing = { ...standing, since: same ? before.since : Date.now() };
  refresh(rollout);
  if (before.phase !== standing.phase) index(rollout);
}

/** Shows the state as it is now in the web UI. */
export function refresh(rollout: Seen): void {
  setCurrentDetails(details(rollout.settings.pool, describe(rollout)));
}

/** Shows where the run stands after a look; the Rollout object is written only when something is new. */
export async function show(rollout: Telling, turn: Turn, by: Teller = publish): Promise<void> {
  const { view } = rollout;
  const standing = standingOf(rollout, turn);
  stand(rollout, standing);
  const { eta: _, ...lasting } = reportOf(rollout);
  if (view.news.length === 0 && view.shown === JSON.stringify(lasting)) return;
  await report(rollout, standing, { ...convergedNews(rollout), by });
}

// The run that went back may have ended by force, with every newcomer held, also those of the good template.
function convergedNews({ memory: { lastRollback, lastGood, rollback } }: Seen<"memory">): News {
  return lastRollback && lastGood && !rollback ? { convergedTemplateHash: lastGood.templateHash } : {};
}

/** Changes the standing and writes it to the Rollout object, with Events when there is news. */
export async function report(
  rollout: Telling,
  standing: Omit<Standing, "since">,
  { by = publish, ...news }: News & { by?: Teller } = {},
): Promise<void> {
  const { settings: { pool }, memory, view } = rollout;
  stand(rollout, standing);
  // A report writes back what earlier runs left, which must have been read.
  if (!memory.recalled) return;
  const told = reportOf(rollout);
  const { eta: _, ...lasting } = told;
  const before = { news: view.news, shown: view.shown };
  view.shown = JSON.stringify(lasting);
  view.news = [];
  try {
    const summary = `Report: ${standing.message.slice(0, 150)}`;
    await by.ensureRolloutReported.executeWithOptions({ summary }, [
      { pool, report: { ...told, ...newsPart(news) }, events: [...before.news, ...(news.events ?? [])] },
    ]);
  } catch (error) {
    // Out of reach, it is told later; what is refused would be refused again.
    if (troubleOf(error).kind === "unreachable") {
      view.shown = before.shown;
      view.news = [...before.news, ...view.news];
    }
    throw error;
  }
}

/** Indexes a run that begins, unless who started it has: each time costs a write of Temporal's. */
export function indexAtStart(rollout: Indexed): void {
  const { typedSearchAttributes: given } = workflowInfo();
  const isGiven = attributesOf(rollout).every(({ key, value }) => given.get(key) === value);
  if (!isGiven) index(rollout);
}

function index(rollout: Indexed): void {
  upsertSearchAttributes(attributesOf(rollout));
}

type Indexed = Seen<"settings" | "view" | "target">;

function attributesOf({ settings: { pool }, view, target: { desired } }: Indexed): Attribute[] {
  const { cluster, namespace, name } = pool;
  return [
    ...(cluster === undefined ? [] : [{ key: searchAttributes.cluster, value: cluster }]),
    { key: searchAttributes.namespace, value: namespace },
    { key: searchAttributes.machineDeployment, value: name },
    { key: searchAttributes.phase, value: view.standing.phase },
    ...(desired ? [{ key: searchAttributes.image, value: desired.image }] : []),
  ];
}

interface Attribute {
  key: typeof searchAttributes[keyof typeof searchAttributes];
  value: string;
}

function newsPart({ history, convergedTemplateHash }: News): Partial<RolloutReport> {
  return { ...(history ? { history } : {}), ...(convergedTemplateHash ? { convergedTemplateHash } : {}) };
}

/** The run that upgrades Kubernetes of a NodeVersion's control planes; it continues without the run that started it. */
import {
  ChildWorkflowCancellationType,
  getExternalWorkflowHandle,
  isCancellation,
  ParentClosePolicy,
  startChild,
} from "@temporalio/workflow";
import { nodeVersionChanged } from "../commands/messages.ts";
import { shownAtUpgrade, upgradeIdOf } from "../commands/start_options.ts";
import type { ClusterObject } from "../contracts/mod.ts";
import { upgradeKubernetes } from "../upgrade_kubernetes.ts";

/** Milliseconds between the end of an upgrade and the next start, unless the NodeVersion changes before. */
const pauseMs = 300_000;

/**
 * Starts the run that upgrades Kubernetes, and starts another one whenever a survey requires an upgrade again. After
 * continue-as-new, the new run of the parent finds a running upgrade by its workflow ID.
 */
export class UpgradeRun {
  /** Whether the upgrade was started or signaled since the last change of the NodeVersion. */
  isTold = false;
  /** Whether the run has ended since the parent last reset this field. */
  hasEnded = false;
  /** Whether a person had cancelled the run at the last survey. */
  isCancelled = false;
  readonly #object: ClusterObject;
  #isRunning = false;
  /** Earliest time of the next start if the NodeVersion does not change before (epoch ms). */
  #startsAt = 0;

  constructor(object: ClusterObject) {
    this.#object = object;
  }

  /**
   * Starts the run if none is running, or signals the running one that the NodeVersion changed. If the NodeVersion has
   * not changed since the last call, does nothing while the run is running, and during the pause after its end.
   */
  async keep(): Promise<void> {
    if (this.isTold && (this.#isRunning || Date.now() < this.#startsAt)) return;
    this.isTold = true;
    if (!this.#isRunning && await this.#start() === "Started") return;
    await getExternalWorkflowHandle(upgradeIdOf(this.#object)).signal(nodeVersionChanged).catch((error: unknown) => {
      if (isCancellation(error)) throw error;
      // The run has ended at this moment; the next survey shows whether another one is needed.
    });
  }

  async #start(): Promise<"Started" | "RunsAlready"> {
    try {
      const { result } = await startChild(upgradeKubernetes, {
        workflowId: upgradeIdOf(this.#object),
        args: [this.#object],
        ...shownAtUpgrade(this.#object),
        parentClosePolicy: ParentClosePolicy.ABANDON,
        cancellationType: ChildWorkflowCancellationType.ABANDON,
      });
      this.#isRunning = true;
      const end = (): void => this.#end();
      void result().then(end, end); // the outcome is in its report on the NodeVersion
      return "Started";
    } catch (error) {
      if (isCancellation(error)) throw error;
      this.#startsAt = Date.now() + pauseMs;
      return "RunsAlready";
    }
  }

  #end(): void {
    this.#isRunning = false;
    this.hasEnded = true;
    this.#startsAt = Date.now() + pauseMs;
  }
}

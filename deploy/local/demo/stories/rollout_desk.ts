import type { Client } from "@temporalio/client";
import type { Condition, HistoryEntry, RolloutReport } from "../../../../workflows/contracts/mod.ts";
import { NotYet } from "../../process/wait_until.ts";
import { pool, poolPath, type Release } from "../pool_objects.ts";
import { workflowId } from "../runs.ts";
import type { Cluster } from "./cluster.ts";

/** The status of a Rollout, with its history. */
export type RolloutStatus = Partial<RolloutReport> & { history?: HistoryEntry[] };

/** The commands for a rollout. */
export type Verb = "approve" | "promote" | "pause" | "resume" | "retry" | "skip" | "abort";

/** Path of the pool's Rollout on the API server. */
export const rolloutPath = `/apis/ostler.dev/v1alpha1/namespaces/${pool.namespace}/rollouts/${pool.name}`;

const answerMs = 15_000;

/** Reads the status of the pool's rollout, and sends commands to it. */
export class RolloutDesk {
  readonly #cluster: Cluster;
  readonly #client: Client;

  constructor({ cluster, client }: { cluster: Cluster; client: Client }) {
    this.#cluster = cluster;
    this.#client = client;
  }

  /** Returns the status of the Rollout; an empty object if the Rollout does not exist or has no status. */
  async status(): Promise<RolloutStatus> {
    return (await this.#cluster.get<{ status?: RolloutStatus }>(rolloutPath))?.status ?? {};
  }

  /**
   * Waits until `isSo` accepts the status of the pool's current generation, and returns this status. Rejects after
   * `seconds`, with the status that was read last.
   */
  async until(what: string, isSo: (status: RolloutStatus) => boolean, seconds = 90): Promise<RolloutStatus> {
    return await this.#cluster.until(what, async () => {
      const status = await this.status();
      if (await this.#isCurrent(status) && isSo(status)) return status;
      throw new NotYet(
        `the Rollout has phase "${status.phase}", reason "${status.reason}" and message "${status.message}"`,
      );
    }, seconds);
  }

  /** Waits until the Rollout reports all machines on a release, and returns its status. */
  async converged({ image }: Release, seconds = 150): Promise<RolloutStatus> {
    const isThere = (status: RolloutStatus): boolean => status.phase === "Converged" && status.image === image;
    return await this.until(`all machines on "${image}"`, isThere, seconds);
  }

  /**
   * Sends a command as an update to the pool's workflow; rejects with the reason if the workflow refuses the command.
   */
  async ask(verb: Verb, command: object): Promise<void> {
    const handle = this.#client.workflow.getHandle(workflowId);
    const send = (): Promise<unknown> => handle.executeUpdate(verb, { args: [{ by: "demo", ...command }] });
    await this.#client.withDeadline(Date.now() + answerMs, send);
  }

  /**
   * Sends a command that the workflow should refuse; returns the reason of the refusal, or undefined if the command was
   * accepted.
   */
  async refusal(verb: Verb, command: object): Promise<string | undefined> {
    try {
      await this.ask(verb, command);
      return undefined;
    } catch (error) {
      return error instanceof Error && error.cause instanceof Error ? error.cause.message : String(error);
    }
  }

  // Returns whether the status is of the pool's current generation; an older status is ignored, because it may be about
  // to change.
  async #isCurrent({ observedGeneration }: RolloutStatus): Promise<boolean> {
    const found = await this.#cluster.get<{ metadata: { generation: number } }>(poolPath);
    return found?.metadata.generation === observedGeneration;
  }
}

/** Returns a condition of a Rollout as "True Reason"; "absent" if it has none of that type. */
export function conditionOf({ conditions = [] }: RolloutStatus, type: Condition["type"]): string {
  const found = conditions.find((condition) => condition.type === type);
  return found === undefined ? "absent" : `${found.status} ${found.reason}`;
}

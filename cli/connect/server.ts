/** Temporal as who looks after it sees it: its services, without a rollout in sight. */
import type { NativeConnection } from "@temporalio/worker";

export interface Server {
  /** host:port of the frontend. */
  address: string;
  /** The namespace that is meant. */
  namespace: string;
  /** The cluster's name in Temporal; "" for none. */
  cluster: string;
  service: Pick<NativeConnection, "workflowService" | "operatorService">;
  /** Runs requests that together get no more time than that, in milliseconds. */
  within<T>(ms: number, work: () => Promise<T>): Promise<T>;
}

/** The gRPC services of Temporal, for commands of administrators such as `ostler setup`. */
import type { NativeConnection } from "@temporalio/worker";

export interface Server {
  /** host:port of the frontend. */
  address: string;
  /** The selected namespace. */
  namespace: string;
  /** The cluster's name in Temporal; "" without a name. */
  cluster: string;
  service: Pick<NativeConnection, "workflowService" | "operatorService">;
  /** Returns whether the frontend answers a client that shows neither certificate nor API key. */
  asksNobody(): Promise<boolean>;
  /**
   * Runs `work`; each of its requests to Temporal fails if it is not answered within `ms` milliseconds of this call.
   */
  within<T>(ms: number, work: () => Promise<T>): Promise<T>;
}

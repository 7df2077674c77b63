/** What is under way beside the main loop. */
import type { Blocker, Underway } from "../contracts/mod.ts";

/** Something under way for one machine, or the gates of a wave; times in epoch ms. */
export interface Task {
  kind: "join" | "leave" | "repair" | "gates" | "stage" | "update";
  /** The machine, or "wave 1". */
  subject: string;
  node?: string;
  /** The machine that was chosen to go for it. */
  victim?: string;
  templateHash: string;
  step: Underway["step"];
  since: number;
  until: number;
  attempt: number;
  blockers: Blocker[];
  /** Gates could not be judged: why, until they can be, or somebody says promote or retry. */
  doubt: string;
  /** Of a control plane that is to go: what etcd has against it, until that is gone or somebody says promote. */
  etcdDoubts?: string[];
}

export interface Tasks {
  /** By kind and subject. */
  running: Record<string, Task>;
  /** What tasks ended about since the machines were last asked for: that look may be older than their end. */
  justEnded: string[];
  /** What has begun waits with its first step until it has been told. */
  areHeld: boolean;
}

/** Nothing; a continued run begins its tasks anew. */
export function openTasks(): Tasks {
  return { running: {}, justEnded: [], areHeld: false };
}

/** Tasks of one kind, as the names of what they are about. */
export function busyWith({ running }: Readonly<Tasks>, kind: Task["kind"]): string[] {
  return Object.values(running).filter((task) => task.kind === kind).map(({ subject }) => subject);
}

/** Nothing is under way. */
export function isIdle({ running }: Readonly<Tasks>): boolean {
  return Object.keys(running).length === 0;
}

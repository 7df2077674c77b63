/** Events that may happen during a rollout. */
import type { Run } from "./run.ts";

export const scale = (replicas: number) => (run: Run): void => run.fleet.scale(replicas);
export const change = (template: string) => (run: Run): void => run.change(template);
export const pause = (paused: boolean) => (run: Run): void => void (run.paused = paused);
export const restart = (run: Run): void => run.restart();
export const skip = (id: string) => (run: Run): void => void (run.skipped = [...run.skipped, id]);
export const approve = (run: Run): void => void (run.approved = true);
export const approveWave = (run: Run): void => void (run.wave = { ...run.wave, approved: true });
export const sicken = (id: string) => (run: Run): void => {
  const machine = run.fleet.machines.get(id);
  if (machine) machine.ill = run.fleet.clock.now;
};
export const recover = (id: string) => (run: Run): void => {
  const machine = run.fleet.machines.get(id);
  if (machine) machine.ill = undefined;
};
export const retry = (run: Run): void => {
  run.fleet.options.fails = () => false;
  run.options.gateFails = () => false;
  for (const id of run.failed) Object.assign(run.fleet.machines.get(id) ?? {}, { leaving: true, held: false });
  Object.assign(run, { failed: [], retries: [], quarantined: false });
};
export const rollBack = (run: Run): void => {
  run.change("A");
  run.fleet.converged = "rolling-back";
  run.rollingBack = true;
};
export const remove = (id: string) => (run: Run): void => {
  const machine = run.fleet.machines.get(id);
  if (!machine || machine.leaving) return;
  if (machine.ready) run.fleet.unchosen += 1;
  run.fleet.evict(machine);
};
export const holdAll = (run: Run): void => {
  for (const machine of run.fleet.machines.values()) machine.held = true;
};

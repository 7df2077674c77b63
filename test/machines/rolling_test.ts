/** A pool of real machines is replaced once under the eyes of visitors; the campaign does it again and again. */
import { withGuests } from "./guest_world.ts";
import { noRoutesBecause } from "./pod_routes.ts";
import { machineTest } from "./real_machines.ts";
import { rollsWithoutWorker } from "./rolling_stories.ts";

machineTest(
  "rollOutMachineDeployment brings real machines from kubelet 1.35.3 to 1.36.1 under load while the worker is killed twice, and no request fails",
  () => withGuests(rollsWithoutWorker),
  await noRoutesBecause(),
);

/** Finds the supplier of a pool by the pool's kind, so that state names it and stays plain JSON. */
import { machineController } from "./machine_controller.ts";
import type { Supplier } from "./supplier.ts";

/** What a pool is that names no kind. */
const usualKind = "MachineDeployment";

const suppliers: Record<string, Supplier> = {
  MachineDeployment: machineController,
};

/** Who supplies a pool of that kind; absent is a MachineDeployment. Throws for a kind that has no backend. */
export function supplierOf(kind = usualKind): Supplier {
  const supplier = Object.hasOwn(suppliers, kind) ? suppliers[kind] : undefined;
  if (!supplier) {
    throw new Error(`Cannot plan for a pool of kind "${kind}": known are ${Object.keys(suppliers).join()}`);
  }
  return supplier;
}

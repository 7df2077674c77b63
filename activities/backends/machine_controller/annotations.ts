/** The annotations, the label and the finalizer through which Ostler and machine-controller (1.66) communicate. */

/** The hold: any value makes machine-controller skip a Machine, on create and on delete. */
export const holdAnnotation = "machine-controller.kubermatic.io/initializers";
/** Any value makes machine-controller prefer a Machine when it scales down. */
export const victimAnnotation = "cluster.k8s.io/delete-machine";
/** Its presence on a Node makes machine-controller skip its own drain. */
export const skipEvictionAnnotation = "kubermatic.io/skip-eviction";
/** Label of a Node: the UID of its Machine; machine-controller deletes the Node together with this Machine. */
export const ownerLabel = "machine-controller/owned-by";
/** Annotation of a Machine: the current time, which Ostler sets so that machine-controller reconciles the Machine. */
export const wakeAnnotation = "ostler.dev/woken-at";
/** Finalizer that machine-controller adds to a Machine right before it orders an instance. */
export const instanceFinalizer = "machine-delete-finalizer";

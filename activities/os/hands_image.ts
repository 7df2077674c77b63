/**
 * The form of the image of hands, the pods that execute orders on nodes: with a digest, because a tag may name another
 * image later.
 */
export const handsImagePattern = /^[a-z0-9][a-z0-9._:/-]{0,254}@sha256:[0-9a-f]{64}$/;

/** The end of a message about a setting hands-image that does not match this form, with the remedy. */
export const withoutHandsImage =
  "setting hands-image does not name an image by digest; set it to the image of the pods that run commands on nodes";

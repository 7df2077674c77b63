/** What the image of hands may be named: with a digest, as a tag may be another image tomorrow. */
export const handsImagePattern = /^[a-z0-9][a-z0-9._:/-]{0,254}@sha256:[0-9a-f]{64}$/;

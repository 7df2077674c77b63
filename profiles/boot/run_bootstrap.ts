import type { ProfilePhase } from "../schema.ts";

/**
 * The cloud-init modules that start `bootstrap.service`, the service of the first boot phase, without waiting for its
 * end.
 */
export const runBootstrap: Pick<ProfilePhase, "modules"> = {
  modules: {
    runcmd: [
      "systemctl daemon-reload",
      "systemctl enable bootstrap.service",
      "systemctl start --no-block bootstrap.service",
    ],
  },
};

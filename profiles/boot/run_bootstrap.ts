import type { ProfilePhase } from "../schema.ts";

/** Starts the first phase with cloud-init, without waiting for its end. */
export const runBootstrap: Pick<ProfilePhase, "modules"> = {
  modules: {
    runcmd: [
      "systemctl daemon-reload",
      "systemctl enable bootstrap.service",
      "systemctl start --no-block bootstrap.service",
    ],
  },
};

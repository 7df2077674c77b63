import type { ProfilePhase } from "../schema.ts";

/** The cloud-init modules that start the service of the first phase, without waiting for the end of the phase. */
export const runBootstrap: Pick<ProfilePhase, "modules"> = {
  modules: {
    runcmd: [
      "systemctl daemon-reload",
      "systemctl enable bootstrap.service",
      "systemctl start --no-block bootstrap.service",
    ],
  },
};

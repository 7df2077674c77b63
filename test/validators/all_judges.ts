import type { Judge } from "./judge.ts";
import { checkers } from "./judges/checkers.ts";
import { cloudInit } from "./judges/cloud_init.ts";
import { ignitionValidate } from "./judges/ignition_validate.ts";
import { shellcheck } from "./judges/shellcheck.ts";
import { systemd } from "./judges/systemd.ts";
import { yaml } from "./judges/yaml.ts";

/** Each of the external tools that validate the output of profiles. */
export const allJudges: readonly Judge[] = [cloudInit, shellcheck, systemd, ...checkers, ignitionValidate, yaml];

/** Finds the causes of failures of OS tools in their messages, because their exit codes do not distinguish causes. */
import type { OsRefusal } from "../../workflows/contracts/mod.ts";

/** The first match wins, so clear causes come before failures that they may lead to. */
const causes: [OsRefusal, RegExp][] = [
  ["DiskFull", /no space left on device|ENOSPC|min-free-space|disk quota exceeded|insufficient free space/i],
  [
    "SignatureInvalid",
    /signature (was )?required|no signature|bad signature|can't check signature|signatures? (found|verif|invalid)|GPG[ :]|rejected by policy|source image rejected|policy requirements|invalid signature/i,
  ],
  [
    "DriverMissing",
    /(bootc|rpm-ostree|ostree): (command )?not found|failed to execute|unrecognized subcommand|unknown option|unknown command/i,
  ],
  [
    "ImageNotFound",
    /manifest unknown|name unknown|manifest \S+ not found|repository \S* ?not found|requested access to the resource is denied|unauthorized|No such (branch|metadata object)|remote '[^']*' not found|Server returned (HTTP )?404|status(:| code)? 404|not found in registry/i,
  ],
  [
    "RegistryUnreachable",
    /connection refused|no such host|could not resolve|couldn't resolve|temporary failure in name resolution|i\/o timeout|timed? ?out|network is unreachable|no route to host|connection reset|x509:|TLS handshake|certificate|Server returned (HTTP )?5\d\d|status(:| code)? 5\d\d|too ?many ?requests|pinging container registry|Couldn't connect|Could not connect/i,
  ],
];

/** Returns the cause of a failure; "DriverFailed" for an unknown message. */
export function refusalIn(message: string): OsRefusal {
  return causes.find(([, words]) => words.test(message))?.[0] ?? "DriverFailed";
}

/**
 * Validates OperatingSystemConfigs: only Ostler writes them, because a change by any other user would reach no machine
 * and would not last.
 */
import { isDeepStrictEqual } from "node:util";
import { type Admission, unknownOperation } from "./admission_review.ts";

/** Validates requests on /operatingsystemconfig; `trustedUsers` are the user names of Ostler. */
export function admitConfig(trustedUsers: readonly string[]): Admission {
  return (request) => {
    const { operation, object, oldObject, userInfo } = request;
    if (operation === "CREATE" || operation === "DELETE") return Promise.resolve({});
    if (operation !== "UPDATE" || !object || !oldObject) return Promise.resolve(unknownOperation(request));
    if (isDeepStrictEqual(object.spec, oldObject.spec) || trustedUsers.includes(userInfo.username)) {
      return Promise.resolve({});
    }
    const message =
      `Failed to change the spec of OperatingSystemConfig "${object.metadata.name}": Ostler renders it; ` +
      "change the OperatingSystemProfile or the MachineDeployment instead";
    return Promise.resolve({ denial: { code: 403, message } });
  };
}

/** OperatingSystemConfigs: written by Ostler alone, as nobody else's change would reach a machine or last. */
import { isDeepStrictEqual } from "node:util";
import { type Admission, unknownOperation } from "./admission_review.ts";

/** Judges /operatingsystemconfig; `trustedUsers` are the names under which Ostler itself comes. */
export function admitConfig(trustedUsers: readonly string[]): Admission {
  return (request) => {
    const { operation, object, oldObject, userInfo } = request;
    if (operation === "CREATE" || operation === "DELETE") return Promise.resolve({});
    if (operation !== "UPDATE" || !object || !oldObject) return Promise.resolve(unknownOperation(request));
    if (isDeepStrictEqual(object.spec, oldObject.spec) || trustedUsers.includes(userInfo.username)) {
      return Promise.resolve({});
    }
    const message = `Cannot change the spec of "${object.metadata.name}": Ostler renders it; ` +
      "change the OperatingSystemProfile or the MachineDeployment instead";
    return Promise.resolve({ denial: { code: 403, message } });
  };
}

/** A notice as a CloudEvent 1.0, in structured mode. */
import type { Notice, NoticeKind, PoolRef } from "../../workflows/contracts/mod.ts";

const types: Record<NoticeKind, string> = {
  Halted: "halted",
  RollingBack: "rolling-back",
  AwaitingApproval: "awaiting-approval",
  Converged: "converged",
  RolledBack: "rolled-back",
  Aborted: "aborted",
};

/** The event; who gets it twice knows it by source and id. */
export function cloudEvent({ cluster, namespace, name }: PoolRef, { id, kind, at, ...data }: Notice): object {
  const place = `/namespaces/${namespace}/machinedeployments/${name}`;
  return {
    specversion: "1.0",
    id,
    source: cluster === undefined ? place : `/clusters/${cluster}${place}`,
    type: `dev.ostler.rollout.${types[kind]}`,
    subject: `${namespace}/${name}`,
    time: at,
    datacontenttype: "application/json",
    data: { namespace, name, ...(cluster === undefined ? {} : { cluster }), kind, ...data },
  };
}

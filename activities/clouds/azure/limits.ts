/** Timeouts and cancellation of requests, which include the fetch of an access token. */
import type { ComputeManagementClient } from "@azure/arm-compute";
import type { Agent } from "node:http";

type Credential = ConstructorParameters<typeof ComputeManagementClient>[0];

/**
 * Returns credentials that stop fetching a token when the request is aborted, which the library's own credentials do
 * not.
 */
export function limited(credential: Credential): Credential {
  return {
    getToken: async (scopes, options) => {
      const signal = options?.abortSignal;
      const { promise, reject } = Promise.withResolvers<never>();
      const end = (): void => reject(new Error("the credentials were not issued in time"));
      signal?.addEventListener("abort", end);
      try {
        if (signal?.aborted) end();
        return await Promise.race([credential.getToken(scopes, options), promise]);
      } finally {
        signal?.removeEventListener("abort", end);
      }
    },
  };
}

/** Gives each request of a client a timeout, the signal and the agent. */
export function addLimits(
  { pipeline }: ComputeManagementClient,
  { requestMs, signal, agent, isTls }: {
    requestMs: number;
    signal: AbortSignal | undefined;
    agent: Agent;
    isTls: boolean;
  },
): void {
  const ended = signal ? [signal] : [];
  const policy: Parameters<typeof pipeline.addPolicy>[0] = {
    name: "ostlerConnections",
    sendRequest: (request, next) => {
      request.agent = agent;
      // The library passes options of a list to the request of its first page only.
      request.abortSignal = AbortSignal.any([AbortSignal.timeout(requestMs), ...ended]);
      request.allowInsecureConnection = !isTls;
      return next(request);
    },
  };
  // The policy precedes authentication, so that it also limits the fetch of a token.
  pipeline.addPolicy(policy, { beforePolicies: ["bearerTokenAuthenticationPolicy"] });
}

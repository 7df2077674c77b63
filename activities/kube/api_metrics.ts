/** Reads the metrics of API servers, for which the client's library has no class. */
import type { Configuration, HttpMethod } from "@kubernetes/client-node";
import { ApiException, ServerConfiguration } from "./client_node.ts";

/** Made by `KubeConfig.makeApiClient`, so its requests share credentials, timeouts and rate with all other clients. */
export class ApiMetrics {
  readonly #configuration: Configuration;

  constructor(configuration: Configuration) {
    this.#configuration = configuration;
  }

  /**
   * Returns the metrics as text, from the API server at `server` ("https://host:port"), which must have a certificate
   * of this cluster; without `server`, from any API server of the cluster.
   */
  async read(server?: string): Promise<string> {
    const { baseServer, httpApi, authMethods } = this.#configuration;
    const from = server === undefined ? baseServer : new ServerConfiguration(server, {});
    const request = from.makeRequestContext("/metrics", "GET" as HttpMethod);
    request.setHeaderParam("User-Agent", "ostler");
    await authMethods.default?.applySecurityAuthentication(request);
    const { httpStatusCode: code, headers, body } = await httpApi.send(request).toPromise();
    const text = await body.text();
    if (code === 200) return text;
    throw new ApiException(code, "Failed to read metrics", text, headers);
  }
}

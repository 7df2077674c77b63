/**
 * The part of the Kubernetes client library that Ostler uses; other files import only types from the library. The
 * library loads all API groups, so production runs a bundle of this file, which has only the API groups listed here
 * (`docs/reference/settings.md`).
 */
export {
  ApiException,
  AppsV1Api,
  AuthenticationV1Api,
  CertificatesV1Api,
  CoordinationV1Api,
  CoreV1Api,
  createConfiguration,
  CustomObjectsApi,
  DiscoveryV1Api,
  IsomorphicFetchHttpLibrary,
  KubeConfig,
  loadYaml,
  PatchStrategy,
  PolicyV1Api,
  RbacAuthorizationV1Api,
  ResponseContext,
  ServerConfiguration,
  setHeaderMiddleware,
  setHeaderOptions,
  V1MicroTime,
  VersionApi,
  Watch,
  wrapHttpLibrary,
} from "@kubernetes/client-node";

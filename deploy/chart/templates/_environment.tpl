{{- /* The variables of a process: its settings, facts of the pod, credentials of Temporal, and memory limits. */ -}}
{{- define "ostler.environment" -}}
{{- $root := .root }}
{{- $settings := include "ostler.settings" $root | fromJson }}
{{- range $flag, $value := $settings }}
- { name: {{ include "ostler.variable" $flag }}, value: {{ $value | quote }} }
{{- end }}
{{- range include "ostler.workerClusterSecret" . | fromJsonArray }}
- { name: OSTLER_WORKER_CLUSTER_KUBECONFIG, value: {{ printf "%s/%s" .folder .key | quote }} }
{{- end }}
{{- if and (ne $root.Release.Namespace "ostler-system") (not (hasKey $settings "trusted-users")) }}
{{- $user := printf "system:serviceaccount:%s:ostler" $root.Release.Namespace }}
- { name: OSTLER_TRUSTED_USERS, value: {{ printf "%s-controller,%s-worker" $user $user | quote }} }
{{- end }}
{{- if and (ne $root.Release.Namespace "ostler-system") (not (hasKey $settings "webhook-endpoint")) }}
- { name: OSTLER_WEBHOOK_ENDPOINT, value: {{ printf "%s/ostler-webhook" $root.Release.Namespace | quote }} }
{{- end }}
{{- if and (eq .process "worker") (not (hasKey $settings "provider-reference-namespaces")) }}
# Namespaces that provider specs may refer to: kube-system, and those in the value rbac.providerReferences.
{{- $listed := list "kube-system" }}
{{- range $root.Values.rbac.providerReferences }}{{ $listed = append $listed .namespace }}{{ end }}
- { name: OSTLER_PROVIDER_REFERENCE_NAMESPACES, value: {{ join "," (uniq $listed) | quote }} }
{{- end }}
{{- if not (hasKey $settings "identity") }}
- name: OSTLER_IDENTITY
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- end }}
{{- if not (hasKey $root.Values.settings "build-id") }}
# The controller makes this version the current one as soon as its workers poll; without a build id an administrator must.
- name: OSTLER_BUILD_ID
  valueFrom: { fieldRef: { fieldPath: "metadata.labels['app.kubernetes.io/version']" } }
{{- end }}
{{- if not (hasKey $settings "system-namespace") }}
- name: OSTLER_SYSTEM_NAMESPACE
  valueFrom: { fieldRef: { fieldPath: metadata.namespace } }
{{- end }}
{{- if ne .process "webhook" }}
{{- include "ostler.temporalAccess" (.config.temporal | default $root.Values.temporal) }}
{{- else if not (hasKey $settings "cert-dir") }}
- { name: OSTLER_CERT_DIR, value: /etc/ostler/certificate }
{{- end }}
# Free memory is returned to the system: docs/reference/settings.md.
- { name: DENO_V8_FLAGS, value: "--max-semi-space-size=8,--initial-old-space-size=64,--heap-growing-percent=40" }
- { name: MALLOC_ARENA_MAX, value: "2" }
- { name: MALLOC_TRIM_THRESHOLD_, value: "131072" }
{{- range $root.Values.env }}
{{- if regexMatch "^(AWS_(ACCESS_KEY_ID|SECRET_ACCESS_KEY|SESSION_TOKEN|SHARED_CREDENTIALS_FILE|ROLE_ARN|WEB_IDENTITY_TOKEN_FILE)|AZURE_(CLIENT_.+|FEDERATED_TOKEN_FILE)|GOOGLE_APPLICATION_CREDENTIALS)$" (.name | default "") }}
{{- fail (printf "Failed to set %s for every process: only workers need credentials of a cloud; set it in worker.env" .name) }}
{{- end }}
{{- end }}
{{- with $root.Values.env }}
{{ toYaml . }}
{{- end }}
{{- with .config.env }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "ostler.temporalAccess" -}}
{{- if .apiKeySecret }}
- { name: TEMPORAL_API_KEY_PATH, value: /etc/ostler/temporal/key/api-key }
{{- end }}
{{- if or .apiKeySecret .clientCertificateSecret .serverCaSecret .serverName }}
- { name: TEMPORAL_TLS, value: "true" }
{{- end }}
{{- if .clientCertificateSecret }}
- { name: TEMPORAL_TLS_CLIENT_CERT_PATH, value: /etc/ostler/temporal/client/tls.crt }
- { name: TEMPORAL_TLS_CLIENT_KEY_PATH, value: /etc/ostler/temporal/client/tls.key }
{{- end }}
{{- if .serverCaSecret }}
- { name: TEMPORAL_TLS_SERVER_CA_CERT_PATH, value: /etc/ostler/temporal/server/ca.crt }
{{- end }}
{{- with .serverName }}
- { name: TEMPORAL_TLS_SERVER_NAME, value: {{ . }} }
{{- end }}
{{- end }}

{{- /* The Secrets with credentials of Temporal, as a JSON list of volumes with their folders; mounted files can change without a restart. */ -}}
{{- define "ostler.temporalSecrets" -}}
{{- $found := list }}
{{- with .apiKeySecret }}
{{- $found = append $found (dict "volume" "temporal-key" "secret" . "folder" "/etc/ostler/temporal/key") }}
{{- end }}
{{- with .clientCertificateSecret }}
{{- $found = append $found (dict "volume" "temporal-client" "secret" . "folder" "/etc/ostler/temporal/client") }}
{{- end }}
{{- with .serverCaSecret }}
{{- $found = append $found (dict "volume" "temporal-server" "secret" . "folder" "/etc/ostler/temporal/server") }}
{{- end }}
{{- toJson $found }}
{{- end }}

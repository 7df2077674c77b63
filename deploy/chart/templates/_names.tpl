{{- /* The version by which Temporal knows the workers. */ -}}
{{- define "ostler.version" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The image of a version; a digest is of the chart's own version alone. Takes a list of the root and the version. */ -}}
{{- define "ostler.image" -}}
{{- $root := first . -}}
{{- $version := last . -}}
{{- $isOwn := eq $version (include "ostler.version" $root) -}}
{{ $root.Values.image.repository }}:{{ $version }}{{ if $isOwn }}{{ with $root.Values.image.digest }}@{{ . }}{{ end }}{{ end }}
{{- end }}

{{- /* The labels that choose the pods of a component. */ -}}
{{- define "ostler.labels" -}}
app.kubernetes.io/name: ostler, app.kubernetes.io/component: {{ . }}
{{- end }}

{{- /* The same of a process, of one version where it stands beside others of its component. */ -}}
{{- define "ostler.selector" -}}
{{ include "ostler.labels" .component }}{{ with .selectedVersion }}, app.kubernetes.io/version: {{ . | quote }}{{ end }}
{{- end }}

{{- /* The variable of a setting, by flag: docs/reference/settings.md. */ -}}
{{- define "ostler.variable" -}}
{{- $prefix := has . (list "kubeconfig" "temporal-address" "temporal-namespace") | ternary "" "OSTLER_" -}}
{{ $prefix }}{{ . | replace "-" "_" | upper }}
{{- end }}

{{- /* The text of a setting: mappings are JSON, lists stand apart by white space, and no number becomes 1e+06. */ -}}
{{- define "ostler.text" -}}
{{- if kindIs "map" . }}{{ toJson . }}
{{- else if kindIs "slice" . }}{{ join " " . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ . }}{{ end }}
{{- end }}

{{- /* The texts of the settings by flag, as JSON. An empty one is not set for the processes, so it is left out. */ -}}
{{- define "ostler.settings" -}}
{{- $found := dict }}
{{- range $flag, $value := .Values.settings }}
{{- with include "ostler.text" $value }}{{ $_ := set $found $flag . }}{{ end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /* The port of an address. Takes a list of the address and the port of the default. */ -}}
{{- define "ostler.port" -}}
{{ regexFind ":[0-9]+$" (first . | default "") | trimPrefix ":" | default (last .) }}
{{- end }}

{{- /* The port of metrics; "0" where none are served. */ -}}
{{- define "ostler.metricsPort" -}}
{{ include "ostler.port" (list (index (include "ostler.settings" . | fromJson) "metrics-address") "0") }}
{{- end }}

{{- /* The ports that every process has, as a JSON mapping: those of probes and metrics, where a port 0 answers none. */ -}}
{{- define "ostler.ports" -}}
{{- $settings := include "ostler.settings" . | fromJson }}
{{- $found := dict }}
{{- $health := include "ostler.port" (list (index $settings "health-probe-address") "8081") }}
{{- if int $health }}{{ $_ := set $found "health" $health }}{{ end }}
{{- $metrics := include "ostler.metricsPort" . }}
{{- if int $metrics }}{{ $_ := set $found "metrics" $metrics }}{{ end }}
{{- toJson $found }}
{{- end }}

{{- /* Workers and their deployment in Temporal, unless settings name them otherwise. */ -}}
{{- define "ostler.defaultDeployment" -}}
ostler{{ with (include "ostler.settings" . | fromJson).cluster }}-{{ . }}{{ end }}
{{- end }}

{{- /* Whether the API server can hold new machines by a policy, which is of Kubernetes 1.36; empty where it cannot. */ -}}
{{- define "ostler.hasPolicies" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}true
{{- else if and (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) (not (lookup "v1" "Namespace" "" "kube-system")) }}
{{- /* Rendered without a cluster: nobody lists what it has. */ -}}
true
{{- end }}
{{- end }}

{{- /* Whether there is a webhook: where nobody says, it stands in for that policy. */ -}}
{{- define "ostler.hasWebhook" -}}
{{- $isAsked := index (include "ostler.settings" . | fromJson) "worker-webhook-endpoint" }}
{{- if eq (include "ostler.side" .) "workers" }}{{ empty $isAsked | ternary "" "true" }}
{{- else if kindIs "bool" .Values.webhook.enabled }}{{ .Values.webhook.enabled | ternary "true" "" }}
{{- else if eq (include "ostler.side" .) "management" }}{{ empty $isAsked | ternary "" "true" }}
{{- else if not (include "ostler.hasPolicies" .) }}true{{ end }}
{{- end }}

{{- /* Where the release stands: `processes` in one cluster with all, `management` beside a worker cluster, `workers` in that one. */ -}}
{{- define "ostler.side" -}}
{{- if .Values.workerCluster.render }}workers
{{- else if .Values.workerCluster.kubeconfigSecret.name }}
{{- if not (include "ostler.settings" . | fromJson).namespace }}
{{- fail "Cannot serve a worker cluster: set settings.namespace to a namespace for its profiles and configs alone" }}
{{- end }}management
{{- else }}processes{{ end }}
{{- end }}

{{- /* The name of what is cluster-wide and may stand there once for each worker cluster. Takes a list of the root and the name. */ -}}
{{- define "ostler.nameBeside" -}}
{{- $root := first . -}}
{{ last . | trimSuffix ".ostler.dev" }}.{{ $root.Release.Namespace }}{{ if hasSuffix ".ostler.dev" (last .) }}.ostler.dev{{ end }}
{{- end }}

{{- /* The version of the workers in Temporal. */ -}}
{{- define "ostler.version" -}}
{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end }}

{{- /* The image of a version; the digest applies only to the chart's own version. Takes a list of the root and the version. */ -}}
{{- define "ostler.image" -}}
{{- $root := first . -}}
{{- $version := last . -}}
{{- $isOwn := eq $version (include "ostler.version" $root) -}}
{{ $root.Values.image.repository }}:{{ $version }}{{ if $isOwn }}{{ with $root.Values.image.digest }}@{{ . }}{{ end }}{{ end }}
{{- end }}

{{- /* The labels that select the pods of a component. */ -}}
{{- define "ostler.labels" -}}
app.kubernetes.io/name: ostler, app.kubernetes.io/component: {{ . }}
{{- end }}

{{- /* The labels that select the pods of a process, of one version if its component has several. */ -}}
{{- define "ostler.selector" -}}
{{ include "ostler.labels" .component }}{{ with .selectedVersion }}, app.kubernetes.io/version: {{ . | quote }}{{ end }}
{{- end }}

{{- /* The variable of a setting, by flag: docs/reference/settings.md. */ -}}
{{- define "ostler.variable" -}}
{{- $prefix := has . (list "kubeconfig" "temporal-address" "temporal-namespace") | ternary "" "OSTLER_" -}}
{{ $prefix }}{{ . | replace "-" "_" | upper }}
{{- end }}

{{- /* The text of a setting: mappings as JSON, lists separated by white space, and numbers without exponent. */ -}}
{{- define "ostler.text" -}}
{{- if kindIs "map" . }}{{ toJson . }}
{{- else if kindIs "slice" . }}{{ join " " . }}
{{- else if kindIs "float64" . }}{{ int64 . }}
{{- else }}{{ . }}{{ end }}
{{- end }}

{{- /* The texts of the settings by flag, as JSON, without empty ones, which the processes treat as not set. */ -}}
{{- define "ostler.settings" -}}
{{- $found := dict }}
{{- range $flag, $value := .Values.settings }}
{{- with include "ostler.text" $value }}{{ $_ := set $found $flag . }}{{ end }}
{{- end }}
{{- toJson $found }}
{{- end }}

{{- /* The port of an address. Takes a list of the address and the default port. */ -}}
{{- define "ostler.port" -}}
{{ regexFind ":[0-9]+$" (first . | default "") | trimPrefix ":" | default (last .) }}
{{- end }}

{{- /* The port of metrics; "0" if disabled. */ -}}
{{- define "ostler.metricsPort" -}}
{{ include "ostler.port" (list (index (include "ostler.settings" . | fromJson) "metrics-address") "0") }}
{{- end }}

{{- /* The ports of every process, as a JSON mapping: those of probes and metrics, unless disabled by port 0. */ -}}
{{- define "ostler.ports" -}}
{{- $settings := include "ostler.settings" . | fromJson }}
{{- $found := dict }}
{{- $health := include "ostler.port" (list (index $settings "health-probe-address") "8081") }}
{{- if int $health }}{{ $_ := set $found "health" $health }}{{ end }}
{{- $metrics := include "ostler.metricsPort" . }}
{{- if int $metrics }}{{ $_ := set $found "metrics" $metrics }}{{ end }}
{{- toJson $found }}
{{- end }}

{{- /* The default task queue and Worker Deployment in Temporal. */ -}}
{{- define "ostler.defaultDeployment" -}}
ostler{{ with (include "ostler.settings" . | fromJson).cluster }}-{{ . }}{{ end }}
{{- end }}

{{- /* Whether the API server has MutatingAdmissionPolicy (Kubernetes 1.36), which holds new machines; empty if not. */ -}}
{{- define "ostler.hasPolicies" -}}
{{- if .Capabilities.APIVersions.Has "admissionregistration.k8s.io/v1/MutatingAdmissionPolicy" }}true
{{- else if and (semverCompare ">=1.36.0-0" .Capabilities.KubeVersion.Version) (not (lookup "v1" "Namespace" "" "kube-system")) }}
{{- /* Rendered without a cluster, whose API versions are unknown. */ -}}
true
{{- end }}
{{- end }}

{{- /* Whether the webhook is installed; by default it replaces a missing policy. */ -}}
{{- define "ostler.hasWebhook" -}}
{{- $isAsked := index (include "ostler.settings" . | fromJson) "worker-webhook-endpoint" }}
{{- if eq (include "ostler.side" .) "workers" }}{{ empty $isAsked | ternary "" "true" }}
{{- else if kindIs "bool" .Values.webhook.enabled }}{{ .Values.webhook.enabled | ternary "true" "" }}
{{- else if eq (include "ostler.side" .) "management" }}{{ empty $isAsked | ternary "" "true" }}
{{- else if not (include "ostler.hasPolicies" .) }}true{{ end }}
{{- end }}

{{- /* The kind of the release: `processes` for a single cluster, `management` and `workers` for a pair of clusters. */ -}}
{{- define "ostler.side" -}}
{{- if .Values.workerCluster.render }}workers
{{- else if .Values.workerCluster.kubeconfigSecret.name }}
{{- if not (include "ostler.settings" . | fromJson).namespace }}
{{- fail "Failed to render the release of a worker cluster: set settings.namespace to a namespace for its profiles and configs only" }}
{{- end }}management
{{- else }}processes{{ end }}
{{- end }}

{{- /* The name of a cluster-wide object that each release in a management cluster has. Takes a list of the root and the name. */ -}}
{{- define "ostler.nameBeside" -}}
{{- $root := first . -}}
{{ last . | trimSuffix ".ostler.dev" }}.{{ $root.Release.Namespace }}{{ if hasSuffix ".ostler.dev" (last .) }}.ostler.dev{{ end }}
{{- end }}

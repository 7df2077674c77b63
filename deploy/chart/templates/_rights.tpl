{{- /* A rule on core objects by name. Takes a list of verb (several separated by commas), resource and names. */ -}}
{{- define "ostler.rule" -}}
- { apiGroups: [""], resources: [{{ index . 1 }}], resourceNames: {{ index . 2 | toJson }}, verbs: [{{ first . }}] }
{{- end }}

{{- /* The annotations of the ServiceAccount of a process, if it has some. Takes a list of the root and the process. */ -}}
{{- define "ostler.accountAnnotations" -}}
{{- $account := (index (first .).Values (last .) | default dict).serviceAccount | default dict }}
{{- with $account.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
{{- end }}
{{- end }}

{{- /* A Role of the worker, or of `process`. Takes root, name, namespace and the text of its rules. */ -}}
{{- define "ostler.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | quote }}
rules:
  {{- .rules | trim | nindent 2 }}
{{ include "ostler.binding" . }}
{{- end }}

{{- /* Binds a Role, or an object of `kind`, in one namespace. */ -}}
{{- define "ostler.binding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace | quote }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: {{ .kind | default "Role" }}, name: {{ .name }} }
subjects:
  - { kind: ServiceAccount, name: ostler-{{ .process | default "worker" }}, namespace: {{ .root.Release.Namespace }} }
{{- end }}

{{- /* The rules of a process on an API group in one namespace, from ../kubernetes. Takes root, process, namespace and group. */ -}}
{{- define "ostler.rulesOn" -}}
{{- $order := . }}
{{- range splitList "\n---\n" (.root.Files.Get (printf "manifests/rbac/%s.yaml" .process)) }}
{{- $role := fromYaml . }}
{{- if and (eq $role.kind "Role") (eq ($role.metadata.namespace | default "") $order.namespace) }}
{{- range $role.rules }}{{ if has $order.group .apiGroups }}
- {{ toJson . }}
{{- end }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

{{- /* A rule on core objects by name. Takes a list of verb, resource and names. */ -}}
{{- define "ostler.rule" -}}
- { apiGroups: [""], resources: [{{ index . 1 }}], resourceNames: {{ index . 2 | toJson }}, verbs: [{{ first . }}] }
{{- end }}

{{- /* A Role of the worker, or of what `process` says. Takes root, name, namespace and the text of its rules. */ -}}
{{- define "ostler.role" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
rules:
  {{- .rules | trim | nindent 2 }}
{{ include "ostler.binding" . }}
{{- end }}

{{- /* Binds a Role, or what `kind` says, in one namespace. */ -}}
{{- define "ostler.binding" -}}
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata:
  name: {{ .name }}
  namespace: {{ .namespace }}
roleRef: { apiGroup: rbac.authorization.k8s.io, kind: {{ .kind | default "Role" }}, name: {{ .name }} }
subjects:
  - { kind: ServiceAccount, name: ostler-{{ .process | default "worker" }}, namespace: {{ .root.Release.Namespace }} }
{{- end }}

{{- /* Rules on profiles and configs that a process has in kube-system. Takes a list of the root and the process. */ -}}
{{- define "ostler.profileRules" -}}
{{- range splitList "\n---\n" ((first .).Files.Get (printf "manifests/rbac/%s.yaml" (last .))) }}
{{- $role := fromYaml . }}
{{- if and (eq $role.kind "Role") (eq ($role.metadata.namespace | default "") "kube-system") }}
{{- range $role.rules }}{{ if has "operatingsystemmanager.k8c.io" .apiGroups }}
- {{ toJson . }}
{{- end }}{{ end }}
{{- end }}
{{- end }}
{{- end }}

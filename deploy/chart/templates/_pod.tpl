{{- /* Scheduling and user of the pods of all processes. */ -}}
{{- define "ostler.place" -}}
{{- $values := .Values }}
{{- range $field := list "nodeSelector" "tolerations" "affinity" }}
{{- with index $values $field }}
{{ $field }}:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}
{{- with .Values.image.pullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ . }}
  {{- end }}
{{- end }}
securityContext:
  runAsNonRoot: true
  runAsUser: 65532
  runAsGroup: 65532
  fsGroup: 65532
  seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- /* Security context and volume mounts of a container. Takes `root`, `secrets` and, if the process has some of its own, `config`. */ -}}
{{- define "ostler.confinement" -}}
securityContext:
  allowPrivilegeEscalation: false
  readOnlyRootFilesystem: true
  capabilities: { drop: [ALL] }
volumeMounts:
  {{- range .secrets }}
  - { name: {{ .volume }}, mountPath: {{ .folder }}, readOnly: true }
  {{- end }}
  {{- with .root.Values.volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with (.config | default dict).volumeMounts }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  - { name: scratch, mountPath: /tmp }
{{- end }}

{{- define "ostler.volumes" -}}
{{- range .secrets }}
- name: {{ .volume }}
  secret: { secretName: {{ .secret }}{{ with .key }}, items: [{ key: {{ . }}, path: {{ . }} }]{{ end }} }
{{- end }}
{{- with .root.Values.volumes }}
{{ toYaml . }}
{{- end }}
{{- with (.config | default dict).volumes }}
{{ toYaml . }}
{{- end }}
# The root file system is read-only; the runtime needs a place for its temporary files.
- name: scratch
  emptyDir: { sizeLimit: 256Mi }
{{- end }}

{{- /* The Secret with the kubeconfig of the worker cluster, as a JSON list; each process gets only its own key. */ -}}
{{- define "ostler.workerClusterSecret" -}}
{{- $found := list }}
{{- with .root.Values.workerCluster.kubeconfigSecret }}
{{- if .name }}
{{- $key := index (.keys | default dict) $.process | default .key }}
{{- $found = append $found (dict "volume" "worker-cluster" "secret" .name "folder" "/etc/ostler/worker-cluster" "key" $key) }}
{{- end }}
{{- end }}
{{- toJson $found }}
{{- end }}

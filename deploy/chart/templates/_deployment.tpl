{{- /*
A process as a Deployment. Takes `root`, its `name`, `component` and `process` (the argument of the image), its `version`,
its values as `config`, `ports` (by name), `secrets` (each with volume, secret and folder), `isScaled` if an autoscaler
sets its replicas, and `selectedVersion` if its component has other versions.
*/ -}}
{{- define "ostler.deployment" -}}
{{- $root := .root }}
{{- $_ := set . "secrets" (concat .secrets (include "ostler.workerClusterSecret" . | fromJsonArray)) }}
{{- $labels := include "ostler.labels" .component -}}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ .name }}
  namespace: {{ $root.Release.Namespace }}
  labels: { {{ $labels }} }
spec:
  {{- if not .isScaled }}
  replicas: {{ .config.replicas }}
  {{- else }}{{ with lookup "apps/v1" "Deployment" $root.Release.Namespace .name }}
  # The current number, because removing replicas from an existing release would set it to 1.
  replicas: {{ .spec.replicas }}
  {{- end }}{{ end }}
  # Previous pods stay until their replacements are Ready.
  strategy: { rollingUpdate: { maxSurge: 1, maxUnavailable: 0 } }
  selector:
    matchLabels: { {{ include "ostler.selector" . }} }
  template:
    metadata:
      labels:
        app.kubernetes.io/name: ostler
        app.kubernetes.io/component: {{ .component }}
        ostler.dev/process: {{ .process }}
        # The tag of the image below, which is also the build id of this version in Temporal.
        app.kubernetes.io/version: {{ .version | quote }}
        {{- with .config.podLabels }}
        {{- toYaml . | nindent 8 }}
        {{- end }}
    spec:
      serviceAccountName: ostler-{{ .process }}
      {{- with $root.Values.priorityClassName }}
      priorityClassName: {{ . }}
      {{- end }}
      # Variables of Services would have the prefix OSTLER_ of settings.
      enableServiceLinks: false
      terminationGracePeriodSeconds: 60
      {{- with $root.Values.topologyKeys }}
      topologySpreadConstraints:
        {{- range . }}
        - maxSkew: 1
          topologyKey: {{ . }}
          whenUnsatisfiable: ScheduleAnyway
          labelSelector:
            matchLabels: { {{ $labels }} }
        {{- end }}
      {{- end }}
      {{- include "ostler.place" $root | trim | nindent 6 }}
      containers:
        - name: {{ .process }}
          image: {{ include "ostler.image" (list $root .version) }}
          {{- with $root.Values.image.pullPolicy }}
          imagePullPolicy: {{ . }}
          {{- end }}
          args: [{{ .process }}]
          env:
            {{- include "ostler.environment" . | trim | nindent 12 }}
          {{- with .ports }}
          ports:
            {{- range $name, $port := . }}
            - { name: {{ $name }}, containerPort: {{ $port }} }
            {{- end }}
          {{- end }}
          {{- if .ports.health }}
          # Loading may take two minutes; afterwards the event loop must answer.
          startupProbe:
            httpGet: { path: /healthz, port: health }
            periodSeconds: 2
            failureThreshold: 60
          livenessProbe:
            httpGet: { path: /healthz, port: health }
            periodSeconds: 10
            timeoutSeconds: 5
            failureThreshold: 6
          readinessProbe:
            httpGet: { path: /readyz, port: health }
            periodSeconds: 5
          {{- end }}
          resources:
            {{- toYaml .config.resources | nindent 12 }}
          {{- include "ostler.confinement" . | trim | nindent 10 }}
      volumes:
        {{- include "ostler.volumes" . | trim | nindent 8 }}
{{- end }}

{{- /* Drains, including Ostler's, evict one pod of a component at a time. */ -}}
{{- define "ostler.disruptionBudget" -}}
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
spec:
  maxUnavailable: 1
  # Pods that are not Ready, such as those that Temporal refuses, must not block the drains of their nodes.
  unhealthyPodEvictionPolicy: AlwaysAllow
  selector:
    matchLabels: { {{ include "ostler.selector" . }} }
{{- end }}

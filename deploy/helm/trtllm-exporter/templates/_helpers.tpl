{{/* Names */}}
{{- define "trtllm-exporter.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{- define "trtllm-exporter.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- $name := include "trtllm-exporter.name" . }}
{{- if contains $name .Release.Name }}
{{- .Release.Name | trunc 52 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name $name | trunc 52 | trimSuffix "-" }}
{{- end }}
{{- end }}
{{- end }}

{{/* Where the objects of the release are. */}}
{{- define "trtllm-exporter.namespace" -}}
{{- default .Release.Namespace .Values.namespaceOverride }}
{{- end }}

{{- define "trtllm-exporter.chart" -}}
{{- printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end }}

{{/* The pod of `helm test`, which is none of the Service's. */}}
{{- define "trtllm-exporter.testSelector" -}}
app.kubernetes.io/name: {{ printf "%s-test" (include "trtllm-exporter.name" .) }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "trtllm-exporter.servicePort" -}}
{{- int (default .Values.web.port .Values.service.port) }}
{{- end }}

{{- define "trtllm-exporter.ipFamilies" -}}
{{- with .Values.service.ipFamilyPolicy }}
ipFamilyPolicy: {{ . }}
{{- end }}
{{- with .Values.service.ipFamilies }}
ipFamilies:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/* Refuses (list context key) where nothing has the status page. */}}
{{- define "trtllm-exporter.hasService" -}}
{{- if eq (index . 0).Values.mode "sidecar" }}
{{- fail (printf "%s: mode sidecar has no Service that could be opened; use mode central" (index . 1)) }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.selector" -}}
app.kubernetes.io/name: {{ include "trtllm-exporter.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "trtllm-exporter.labels" -}}
{{ include "trtllm-exporter.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ include "trtllm-exporter.chart" . }}
{{- with .Values.commonLabels }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.serviceAccount" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "trtllm-exporter.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- default "default" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.imageName" -}}
{{- $registry := (.Values.global | default dict).imageRegistry | default .Values.image.registry }}
{{- empty $registry | ternary .Values.image.repository (printf "%s/%s" $registry .Values.image.repository) }}
{{- end }}

{{- define "trtllm-exporter.image" -}}
{{- if .Values.image.digest }}
{{- printf "%s@%s" (include "trtllm-exporter.imageName" .) .Values.image.digest }}
{{- else }}
{{- printf "%s:%s" (include "trtllm-exporter.imageName" .) (default .Chart.AppVersion .Values.image.tag) }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.pullSecrets" -}}
{{- with concat ((.Values.global | default dict).imagePullSecrets | default list) .Values.imagePullSecrets }}
imagePullSecrets:
  {{- range . }}
  - name: {{ kindIs "string" . | ternary . (get (kindIs "map" . | ternary . (dict)) "name") }}
  {{- end }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.configMap" -}}
{{- default (include "trtllm-exporter.fullname" .) .Values.existingConfigMap }}
{{- end }}

{{/* The pools of a configuration without any, by mode. */}}
{{- define "trtllm-exporter.defaultPools" -}}
{{- if eq .Values.mode "sidecar" -}}
- pool_id: default
  canary: { confirm: true }
{{- else -}}
- pool_id: default
  dns_sd_configs:
    - names: ["_metrics._tcp.triton"]
      refresh_interval: 15s
  relabel_configs:
    - source_labels: [__meta_dns_srv_record_target]
      regex: '([^.]+)\..*'
      target_label: replica_id
{{- end }}
{{- end }}

{{/* The configuration; the number of shards and the target of a sidecar are said in one place. */}}
{{- define "trtllm-exporter.config" -}}
{{- $config := deepCopy (.Values.config | default dict) }}
{{- if not $config.pools }}
{{- $_ := set $config "pools" (include "trtllm-exporter.defaultPools" . | fromYamlArray) }}
{{- end }}
{{- $shards := ($config.sharding | default dict).total | default 1 | int }}
{{- if eq .Values.mode "sharded" }}
{{- $config = mergeOverwrite $config (dict "sharding" (dict "total" (int .Values.shards))) }}
{{- else if eq .Values.mode "sidecar" }}
{{- include "trtllm-exporter.sidecarTarget" (list . $config) }}
{{- else if and (gt $shards 1) (not (hasKey $config.sharding "index")) (not (contains "--sharding.index" (toString .Values.extraArgs))) }}
{{- fail (printf "config.sharding.total: %d exporters share the replicas, and mode central has one for all; set mode=sharded and shards=%d" $shards $shards) }}
{{- end }}
{{- toYaml $config }}
{{- end }}

{{/*
Gives the pool of a sidecar its target, and refuses what a sidecar could not start with: it would keep the pod of the server from
being ready. --replica-id names the only target.
*/}}
{{- define "trtllm-exporter.sidecarTarget" -}}
{{- $values := (index . 0).Values }}
{{- $config := index . 1 }}
{{- $instead := "a sidecar scrapes the server of its own pod; write static_configs: [ { targets: [\"localhost:8002\"] } ], or use mode central" }}
{{- if gt (int ($config.sharding | default dict).total) 1 }}
{{- fail "config.sharding: a sidecar has one replica, which shards do not share; remove it" }}
{{- end }}
{{- if ne (len $config.pools) 1 }}
{{- fail (printf "config.pools has %d entries, and a sidecar has one pool, with the server of its own pod; give one, or use mode central" (len $config.pools)) }}
{{- end }}
{{- $pool := first $config.pools }}
{{- range $key, $value := $pool }}
{{- if and $value (hasSuffix "_sd_configs" $key) }}
{{- fail (printf "config.pools[0].%s: %s" $key $instead) }}
{{- end }}
{{- end }}
{{- if not $pool.static_configs }}
{{- $_ := set $pool "static_configs" (list (dict "targets" (list "localhost:8002"))) }}
{{- end }}
{{- $targets := list }}
{{- range $pool.static_configs }}
{{- $targets = concat $targets (.targets | default list) }}
{{- end }}
{{- if ne (len $targets) 1 }}
{{- fail (printf "config.pools[0].static_configs has %d targets: %s" (len $targets) $instead) }}
{{- end }}
{{- $target := first $targets | toString }}
{{- if not (regexMatch "^(localhost|127(\\.[0-9]+){3}|\\[::1\\]):[0-9]+$" $target) }}
{{- fail (printf "config.pools[0].static_configs: %q is not localhost with a port: %s" $target $instead) }}
{{- end }}
{{- range $key := list "port" "grpcHealthPort" }}
{{- if eq (int (index $values.web $key)) (regexFind "[0-9]+$" $target | int) }}
{{- fail (printf "web.%s: %d is the port of the server in the same pod; choose another" $key (int (index $values.web $key))) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Memory for as many servers as one exporter has: a shard may have a fifth more than its share. */}}
{{- define "trtllm-exporter.resources" -}}
{{- $resources := deepCopy (.Values.resources | default dict) }}
{{- $servers := int .Values.memoryLimit.servers }}
{{- if eq .Values.mode "sidecar" }}
{{- $servers = 1 }}
{{- else if eq .Values.mode "sharded" }}
{{- $servers = div (add (mul $servers 6) (mul (int .Values.shards) 5) -1) (mul (int .Values.shards) 5) }}
{{- end }}
{{- $memory := dict "memory" (printf "%dMi" (add (int .Values.memoryLimit.base) (mul $servers (int .Values.memoryLimit.perServer)))) }}
{{- $limits := merge (dict) ($resources.limits | default dict) $memory }}
{{- $requests := merge (dict) ($resources.requests | default dict) (dict "memory" $limits.memory) }}
{{- toYaml (merge (dict "limits" $limits "requests" $requests) $resources) }}
{{- end }}

{{/* Whether the exporter reads its configuration again by itself: no zero does, in whatever unit. */}}
{{- define "trtllm-exporter.reloads" -}}
{{- if not (regexMatch "^(0+[a-z]+)+$" .Values.reloadInterval) }}yes{{ end }}
{{- end }}

{{/* Arguments and mounts of the exporter, on its own and as a sidecar. */}}
{{- define "trtllm-exporter.args" -}}
{{- include "trtllm-exporter.checkLinks" . }}
{{- if eq (int .Values.web.port) (int .Values.web.grpcHealthPort) }}
{{- fail (printf "web.grpcHealthPort: %d is also web.port; choose another" (int .Values.web.port)) }}
{{- end -}}
- --config.file=/etc/trtllm_exporter/config/config.yml
{{- if include "trtllm-exporter.reloads" . }}
- --config.reload-interval={{ .Values.reloadInterval }}
{{- end }}
- --web.listen-address=:{{ .Values.web.port }}
- --web.max-requests={{ int .Values.web.maxRequests }}
- --probe.unjudged={{ .Values.web.unjudged }}
- {{ ternary "--probe.canary" "--no-probe.canary" .Values.web.canary }}
{{- with int .Values.web.grpcHealthPort }}
- --web.grpc-health-address=:{{ . }}
{{- end }}
{{- with .Values.prometheusRule.values.runbook }}
- --web.runbook-url={{ . }}
{{- end }}
{{- with .Values.prometheusRule.values.grafana }}
- --web.grafana-url={{ . }}
{{- end }}
- --log.level={{ .Values.log.level }}
- --log.format={{ .Values.log.format }}
{{- if .Values.web.lifecycle }}
- --web.enable-lifecycle
{{- end }}
{{- if .Values.web.config }}
- --web.config.file=/etc/trtllm_exporter/web/web.yml
{{- end }}
{{- if eq .Values.mode "sharded" }}
- --sharding.index=$(POD_NAME)
{{- end }}
{{- if eq .Values.mode "sidecar" }}
- --replica-id=$(POD_NAME)
{{- end }}
{{- with .Values.extraArgs }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* Refuses addresses of the rules that are no URLs, as the exporter does. */}}
{{- define "trtllm-exporter.checkLinks" -}}
{{- range $key := list "exporter" "grafana" "runbook" }}
{{- with index $.Values.prometheusRule.values $key }}
{{- include "trtllm-exporter.checkURL" (list (printf "prometheusRule.values.%s" $key) .) }}
{{- end }}
{{- end }}
{{- end }}

{{/* Refuses the value of (list key value) if it is no URL. */}}
{{- define "trtllm-exporter.checkURL" -}}
{{- $key := index . 0 }}
{{- $text := index . 1 | toString }}
{{- if not (contains "://" $text) }}
{{- fail (printf "%s: %q has no scheme; did you mean \"http://%s\"?" $key $text (regexReplaceAll "^(https?:)?/*" $text "")) }}
{{- else if not (regexMatch "^https?://[^/:?#]" $text) }}
{{- fail (printf "%s: %q is not a URL; write it like https://example.com:8443/path" $key $text) }}
{{- end }}
{{- end }}

{{/* The volume of a secret: a name without dots, of 63 characters at most, which two secrets have only if they are the same. */}}
{{- define "trtllm-exporter.secretVolume" -}}
{{- $name := printf "secret-%s" . }}
{{- if or (contains "." $name) (gt (len $name) 63) }}
{{- $name = printf "%s-%s" ($name | replace "." "-" | trunc 54 | trimSuffix "-") (sha256sum . | trunc 8) }}
{{- end }}
{{- $name }}
{{- end }}

{{- define "trtllm-exporter.volumeMounts" -}}
- { name: trtllm-exporter-config, mountPath: /etc/trtllm_exporter/config, readOnly: true }
{{- if .Values.web.config }}
- { name: trtllm-exporter-web, mountPath: /etc/trtllm_exporter/web, readOnly: true }
{{- end }}
{{- range .Values.secrets }}
- { name: {{ include "trtllm-exporter.secretVolume" . }}, mountPath: {{ printf "/etc/trtllm_exporter/secrets/%s" . }}, readOnly: true }
{{- end }}
{{- with .Values.extraVolumeMounts }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.volumes" -}}
- name: trtllm-exporter-config
  configMap: { name: {{ include "trtllm-exporter.configMap" . }} }
{{- if .Values.web.config }}
- name: trtllm-exporter-web
  secret: { secretName: {{ include "trtllm-exporter.fullname" . }}-web }
{{- end }}
{{- range .Values.secrets }}
- name: {{ include "trtllm-exporter.secretVolume" . }}
  secret: { secretName: {{ . }} }
{{- end }}
{{- with .Values.extraVolumes }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{- define "trtllm-exporter.env" -}}
- name: POD_NAME
  valueFrom: { fieldRef: { fieldPath: metadata.name } }
{{- with .Values.extraEnv }}
{{ toYaml . }}
{{- end }}
{{- end }}

{{/* How the page is spoken to. */}}
{{- define "trtllm-exporter.scheme" -}}
{{- ternary "https" "http" (hasKey (.Values.web.config | default dict) "tls_server_config") }}
{{- end }}

{{/* Whether the page asks for a password or a certificate. */}}
{{- define "trtllm-exporter.closed" -}}
{{- $config := .Values.web.config | default dict }}
{{- if or $config.basic_auth_users (hasPrefix "Require" (($config.tls_server_config).client_auth_type | default "")) }}yes{{ end }}
{{- end }}

{{/*
A probe of (list context probe). The kubelet speaks TLS where the page does. It has neither password nor certificate: where
the page asks for these, and the probe brings no headers of its own, it only opens the port.
*/}}
{{- define "trtllm-exporter.probe" -}}
{{- $context := index . 0 }}
{{- $probe := deepCopy (index . 1) }}
{{- if $probe.httpGet }}
{{- if and (include "trtllm-exporter.closed" $context) (not $probe.httpGet.httpHeaders) }}
{{- $_ := set $probe "tcpSocket" (dict "port" $probe.httpGet.port) }}
{{- $_ := unset $probe "httpGet" }}
{{- else if and (eq (include "trtllm-exporter.scheme" $context) "https") (not $probe.httpGet.scheme) }}
{{- $_ := set $probe.httpGet "scheme" "HTTPS" }}
{{- end }}
{{- end }}
{{- toYaml $probe }}
{{- end }}

{{/* Who the process is; OpenShift chooses its user itself. */}}
{{- define "trtllm-exporter.podSecurityContext" -}}
{{- $context := .Values.podSecurityContext | default dict }}
{{- toYaml (ternary (omit $context "runAsUser" "runAsGroup") $context .Values.openshift) }}
{{- end }}

{{/* The pod of an exporter on its own. */}}
{{- define "trtllm-exporter.pod" -}}
metadata:
  labels:
    {{- include "trtllm-exporter.selector" . | nindent 4 }}
    {{- with .Values.podLabels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
  annotations:
    {{- if not (include "trtllm-exporter.reloads" .) }}
    checksum/config: {{ include "trtllm-exporter.config" . | sha256sum }}
    {{- end }}
    {{- if .Values.web.config }}
    checksum/web: {{ toYaml .Values.web.config | sha256sum }}
    {{- end }}
    {{- with .Values.podAnnotations }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  serviceAccountName: {{ include "trtllm-exporter.serviceAccount" . }}
  automountServiceAccountToken: {{ .Values.rbac.create }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: {{ int .Values.terminationGracePeriodSeconds }}
  {{- include "trtllm-exporter.pullSecrets" . | nindent 2 }}
  securityContext:
    {{- include "trtllm-exporter.podSecurityContext" . | nindent 4 }}
  {{- with .Values.priorityClassName }}
  priorityClassName: {{ . }}
  {{- end }}
  {{- with .Values.dnsPolicy }}
  dnsPolicy: {{ . }}
  {{- end }}
  {{- with .Values.dnsConfig }}
  dnsConfig:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.hostAliases }}
  hostAliases:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.extraInitContainers }}
  initContainers:
    {{- tpl (toYaml .) $ | nindent 4 }}
  {{- end }}
  containers:
    - name: exporter
      image: {{ include "trtllm-exporter.image" . | quote }}
      imagePullPolicy: {{ .Values.image.pullPolicy }}
      args:
        {{- include "trtllm-exporter.args" . | nindent 8 }}
      env:
        {{- include "trtllm-exporter.env" . | nindent 8 }}
      ports:
        - { name: http, containerPort: {{ int .Values.web.port }}, protocol: TCP }
        {{- with int .Values.web.grpcHealthPort }}
        - { name: grpc-health, containerPort: {{ . }}, protocol: TCP }
        {{- end }}
      {{- range $probe := list "startupProbe" "livenessProbe" "readinessProbe" }}
      {{- with index $.Values $probe }}
      {{ $probe }}:
        {{- include "trtllm-exporter.probe" (list $ .) | nindent 8 }}
      {{- end }}
      {{- end }}
      resources:
        {{- include "trtllm-exporter.resources" . | nindent 8 }}
      securityContext:
        {{- toYaml .Values.securityContext | nindent 8 }}
      volumeMounts:
        {{- include "trtllm-exporter.volumeMounts" . | nindent 8 }}
    {{- with .Values.extraContainers }}
    {{- tpl (toYaml .) $ | nindent 4 }}
    {{- end }}
  volumes:
    {{- include "trtllm-exporter.volumes" . | nindent 4 }}
  {{- with .Values.nodeSelector }}
  nodeSelector:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.tolerations }}
  tolerations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  {{- with .Values.affinity }}
  affinity:
    {{- toYaml . | nindent 4 }}
  {{- else }}
  {{- if and (eq $.Values.mode "central") (gt (int $.Values.replicas) 1) (not $.Values.topologySpreadConstraints) }}
  affinity:
    podAntiAffinity:
      preferredDuringSchedulingIgnoredDuringExecution:
        - weight: 100
          podAffinityTerm:
            topologyKey: kubernetes.io/hostname
            labelSelector:
              matchLabels:
                {{- include "trtllm-exporter.selector" $ | nindent 16 }}
  {{- end }}
  {{- end }}
  {{- if .Values.topologySpreadConstraints }}
  topologySpreadConstraints:
    {{- toYaml .Values.topologySpreadConstraints | nindent 4 }}
  {{- else if eq .Values.mode "sharded" }}
  topologySpreadConstraints:
    - maxSkew: 1
      topologyKey: kubernetes.io/hostname
      whenUnsatisfiable: ScheduleAnyway
      labelSelector:
        matchLabels:
          {{- include "trtllm-exporter.selector" . | nindent 10 }}
  {{- end }}
{{- end }}

{{/*
The exporter as a native sidecar, an element for initContainers of a server's pod. Charts that have this one as a
dependency include it with the dependency's context; others copy what NOTES print.
*/}}
{{- define "trtllm-exporter.sidecar" -}}
- name: trtllm-exporter
  restartPolicy: Always
  image: {{ include "trtllm-exporter.image" . | quote }}
  imagePullPolicy: {{ .Values.image.pullPolicy }}
  args:
    {{- include "trtllm-exporter.args" . | nindent 4 }}
  env:
    {{- include "trtllm-exporter.env" . | nindent 4 }}
  ports:
    - { name: llm-metrics, containerPort: {{ int .Values.web.port }}, protocol: TCP }
    {{- with int .Values.web.grpcHealthPort }}
    - { name: grpc-health, containerPort: {{ . }}, protocol: TCP }
    {{- end }}
  livenessProbe:
    {{- include "trtllm-exporter.probe" (list . (dict "httpGet" (dict "path" "/-/healthy" "port" "llm-metrics"))) | nindent 4 }}
  resources:
    {{- include "trtllm-exporter.resources" . | nindent 4 }}
  securityContext:
    {{- /* What only a pod may have is left to the server's. */}}
    {{- $pod := omit (include "trtllm-exporter.podSecurityContext" . | fromYaml) "fsGroup" "fsGroupChangePolicy" "supplementalGroups" "supplementalGroupsPolicy" "seLinuxChangePolicy" "sysctls" }}
    {{- toYaml (merge (deepCopy (.Values.securityContext | default dict)) $pod) | nindent 4 }}
  volumeMounts:
    {{- include "trtllm-exporter.volumeMounts" . | nindent 4 }}
{{- end }}

{{/* All that a server's pod needs for the sidecar, as a patch. */}}
{{- define "trtllm-exporter.injection" -}}
metadata:
  labels:
    {{- toYaml .Values.podMonitor.selector | nindent 4 }}
spec:
  initContainers:
    {{- include "trtllm-exporter.sidecar" . | nindent 4 }}
  volumes:
    {{- include "trtllm-exporter.volumes" . | nindent 4 }}
{{- end }}

{{/*
A readiness for the server's container by the verdict of the exporter next to it; over gRPC, which asks for no password, where
the page does. Nothing where the kubelet could not ask.
*/}}
{{- define "trtllm-exporter.readiness" -}}
{{- $closed := include "trtllm-exporter.closed" . }}
{{- if or (not $closed) .Values.web.grpcHealthPort -}}
readinessProbe:
  {{- if $closed }}
  grpc: { port: {{ int .Values.web.grpcHealthPort }}, service: replica/ready }
  {{- else }}
  httpGet: { path: /-/replica/ready, port: {{ int .Values.web.port }}, scheme: {{ include "trtllm-exporter.scheme" . | upper }} }
  {{- end }}
  periodSeconds: 5
  timeoutSeconds: 2
  failureThreshold: 6
{{- end }}
{{- end }}

{{/* What the readiness lacks if a pool of the configuration allows no question. */}}
{{- define "trtllm-exporter.unasked" -}}
{{- if not .Values.existingConfigMap }}
{{- range (include "trtllm-exporter.config" . | fromYaml).pools }}
{{- $canary := .canary | default dict }}
{{- if not (or $canary.confirm $canary.enabled) }}

It stays 200 while the server hangs, because pool {{ .pool_id }} does not allow the exporter to ask it: set
canary: { confirm: true } in the pool, for at most one request of one token a minute while the server is suspected.
{{- end }}
{{- end }}
{{- end }}
{{- end }}

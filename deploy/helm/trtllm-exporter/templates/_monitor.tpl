{{/* What a ServiceMonitor and a PodMonitor have in common: the beginning, up to the selector. */}}
{{- define "trtllm-exporter.monitor.head" -}}
metadata:
  name: {{ include "trtllm-exporter.fullname" . }}
  namespace: {{ .Values.serviceMonitor.namespace | default (include "trtllm-exporter.namespace" .) }}
  {{- with .Values.serviceMonitor.annotations }}
  annotations:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  labels:
    {{- include "trtllm-exporter.labels" . | nindent 4 }}
    {{- with .Values.serviceMonitor.labels }}
    {{- toYaml . | nindent 4 }}
    {{- end }}
spec:
  {{- if .Values.serviceMonitor.namespace }}
  namespaceSelector:
    matchNames: [{{ include "trtllm-exporter.namespace" . }}]
  {{- end }}
  {{- with .Values.serviceMonitor.limits }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
  {{- with .Values.serviceMonitor.scrapeProtocols }}
  scrapeProtocols:
    {{- toYaml . | nindent 4 }}
  {{- end }}
  fallbackScrapeProtocol: PrometheusText0.0.4
{{- end }}

{{/* How the endpoint is scraped. */}}
{{- define "trtllm-exporter.monitor.endpoint" -}}
interval: {{ .Values.serviceMonitor.interval }}
{{- with .Values.serviceMonitor.scrapeTimeout }}
scrapeTimeout: {{ . }}
{{- end }}
scheme: {{ .Values.serviceMonitor.scheme }}
{{- with .Values.serviceMonitor.tlsConfig }}
tlsConfig:
  {{- toYaml . | nindent 2 }}
{{- end }}
honorLabels: true
relabelings:
  - { targetLabel: job, replacement: {{ .Values.serviceMonitor.job | quote }}, action: replace }
  {{- with .Values.serviceMonitor.relabelings }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .Values.serviceMonitor.metricRelabelings }}
metricRelabelings:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end }}

{{/*
What the rules depend on: the values of files/rules-values.yaml, those of the chart in their place, and those that follow from
others, as `trtllm_exporter rules` has them.
*/}}
{{- define "trtllm-exporter.prometheusRule.values" -}}
{{- $values := .Files.Get "files/rules-values.yaml" | fromYaml }}
{{- range $key, $value := dict "exporter_job" .Values.serviceMonitor.job "scrape_interval" .Values.serviceMonitor.interval "cluster_label" .Values.clusterLabel }}
{{- $_ := set $values $key $value }}
{{- end }}
{{- range $key, $value := .Values.prometheusRule.values }}
{{- if not (hasKey $values $key) }}
{{- fail (printf "prometheusRule.values.%s is unknown; files/rules-values.yaml lists what there is" $key) }}
{{- end }}
{{- $_ := set $values $key $value }}
{{- end }}
{{- include "trtllm-exporter.checkLinks" . }}
{{- if and $values.exporter (not $values.runbook) }}
{{- $_ := set $values "runbook" (printf "%s/runbook" $values.exporter) }}
{{- end }}
{{- $scrape := include "trtllm-exporter.seconds" (list "serviceMonitor.interval" $values.scrape_interval) | int }}
{{- $evaluation := include "trtllm-exporter.seconds" (list "prometheusRule.values.evaluation_interval" $values.evaluation_interval) | int }}
{{- if gt $scrape 60 }}
{{- fail (printf "serviceMonitor.interval: %s is longer than 1m, but the rules need four scrapes in five minutes; scrape the exporter more often" $values.scrape_interval) }}
{{- end }}
{{- $window := max (mul 4 $scrape) $evaluation }}
{{- $_ := set $values "rate_window" (eq (mod $window 60) 0 | ternary (printf "%dm" (div $window 60)) (gt $window 60 | ternary (printf "%dm%ds" (div $window 60) (mod $window 60)) (printf "%ds" $window))) }}
{{- $_ := set $values "evaluation_seconds" $evaluation }}
{{- $_ := set $values "cluster" (empty $values.cluster_label | ternary "" (printf "%s, " $values.cluster_label)) }}
{{- toYaml $values }}
{{- end }}

{{/* A time in seconds; whole seconds and minutes are understood. */}}
{{- define "trtllm-exporter.seconds" -}}
{{- $key := index . 0 }}
{{- $text := index . 1 | toString }}
{{- if not (regexMatch "^([1-9][0-9]*m)?([1-9][0-9]*s)?$" $text | and $text) }}
{{- fail (printf "%s: %q is not a time in minutes and seconds; write it like 15s or 1m" $key $text) }}
{{- end }}
{{- add (mul 60 (regexFind "^[0-9]+m" $text | trimSuffix "m" | default "0" | int)) (regexFind "[0-9]+s$" $text | trimSuffix "s" | default "0" | int) }}
{{- end }}

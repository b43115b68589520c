{{/* A dashboard as it is deployed: its text, unless something is chosen otherwise. */}}
{{- define "trtllm-exporter.dashboard.chosen" -}}
{{- $text := include "trtllm-exporter.dashboard" . }}
{{- with index . 3 }}
{{- $text = $text | replace "https://github.com/trtllm-exporter/trtllm_exporter/blob/main/alerts/runbook.md#" (printf "%s#" .) }}
{{- end }}
{{- $chosen := index . 2 }}
{{- $dashboard := $text | fromJson }}
{{- if and (eq (toJson $dashboard.tags) (toJson $chosen.tags)) (not $chosen.links) (eq $dashboard.refresh $chosen.refresh) (eq $dashboard.time.from $chosen.timeFrom) }}
{{- $text }}
{{- else }}
{{- $links := concat $dashboard.links $chosen.links }}
{{- $_ := set (first $links) "tags" (list (first $chosen.tags)) }}
{{- $_ := set $dashboard.time "from" $chosen.timeFrom }}
{{- mergeOverwrite $dashboard (dict "tags" $chosen.tags "links" $links "refresh" $chosen.refresh) | toRawJson }}
{{- end }}
{{- end }}

{{/* The text of a dashboard with another label of clusters, or none; package dashboards replaces the same texts. */}}
{{- define "trtllm-exporter.dashboard" -}}
{{- $text := index . 0 }}
{{- $label := index . 1 }}
{{- if eq $label "cluster" }}
{{- $text }}
{{- else if $label }}
{{- $text | replace "{cluster=~\\\"$cluster\\\"" (printf "{%s=~\\\"$cluster\\\"" $label) | replace "(cluster, " (printf "(%s, " $label) | replace "{{cluster}} " (printf "{{%s}} " $label) | replace ", cluster)" (printf ", %s)" $label) | replace "\"cluster\": " (printf "\"%s\": " $label) }}
{{- else }}
{{- $dashboard := $text | replace "{cluster=~\\\"$cluster\\\"," "{" | replace "{cluster=~\\\"$cluster\\\"}" "" | replace "(cluster, " "(" | replace "{{cluster}} " "" | replace "${cluster:queryparam}&" "" | fromJson }}
{{- $variables := list }}
{{- range $dashboard.templating.list }}
{{- if ne .name "cluster" }}
{{- $variables = append $variables . }}
{{- end }}
{{- end }}
{{- $_ := set $dashboard.templating "list" $variables }}
{{- $dashboard | toRawJson }}
{{- end }}
{{- end }}

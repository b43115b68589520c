{{/* A dashboard as it is deployed: its text, unless something is chosen otherwise. */}}
{{- define "trtllm-exporter.dashboard.chosen" -}}
{{- $text := index . 0 }}
{{- range include "trtllm-exporter.dashboard.links" (index . 3) | fromYamlArray }}
{{- $anchor := printf "\"title\": \"%s\"," (index . 0) }}
{{- $text = $text | replace $anchor (printf "\"title\": \"%s\", \"url\": \"%s\" }, { %s" (index . 1) (index . 2) $anchor) }}
{{- end }}
{{- $text = include "trtllm-exporter.dashboard" (list $text (index . 1)) }}
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

{{/*
Links to status pages and the runbook, for those of prometheusRule.values that are set: before which link, the title, the address. Package
dashboards adds the same.
*/}}
{{- define "trtllm-exporter.dashboard.links" -}}
{{- $exporter := .exporter }}
{{- $links := list }}
{{- if $exporter }}
{{- $links = append $links (list "Latency of the pool" "Status page" (printf "%s/?pool=${__value.raw}" $exporter)) }}
{{- $links = append $links (list "Dashboard of the replica" "Status page" (printf "%s/replica?target=${__data.fields.Pool}/${__value.raw}" $exporter)) }}
{{- $links = append $links (list "Replica ${__field.labels.replica_id}" "Status page" (printf "%s/replica?target=${__field.labels.pool_id}/${__field.labels.replica_id}" $exporter)) }}
{{- end }}
{{- with .runbook | default (empty $exporter | ternary "" (printf "%s/runbook" $exporter)) }}
{{- $links = append $links (list "Pool on Fleet" "Runbook" (printf "%s#${__value.raw}" .)) }}
{{- end }}
{{- toYaml $links }}
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

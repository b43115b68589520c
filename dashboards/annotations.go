package dashboards

import "fmt"

// Annotations holds the queries for events that a dashboard marks.
type Annotations struct {
	List []Annotation `json:"list"`
}

// Annotation is a query for one kind of event.
type Annotation struct {
	Name        string      `json:"name"`
	Datasource  *Datasource `json:"datasource"`
	Enable      bool        `json:"enable"`
	Expr        string      `json:"expr"`
	IconColor   string      `json:"iconColor"`
	Step        string      `json:"step"`
	TitleFormat string      `json:"titleFormat"`
	TextFormat  string      `json:"textFormat"`
}

// annotations marks restarts of replicas, versions that are new in a pool, and reloads of
// exporters.
func annotations(d *Dashboard) Annotations {
	annotation := func(name, color, expr, title, text string) Annotation {
		return Annotation{
			Name:        name,
			Datasource:  datasource(),
			Enable:      true,
			Expr:        byCluster(expr),
			IconColor:   color,
			Step:        "60s",
			TitleFormat: title,
			TextFormat:  text,
		}
	}
	const versions = "count by (pool_id, engine_version, trtllm_version) (llm_server_info{" + poolMatchers + "}"
	restarted := fmt.Sprintf("max by (pool_id, replica_id) "+
		"(increase(trtllm_exporter_target_restarts_total{%s}[$__rate_interval])) > 0", targetMatchers)
	exporters := `instance=~".*"`
	if d.UID == "trtllm-exporter" {
		exporters = `instance=~"$instance"`
	}
	reloaded := fmt.Sprintf(
		"max by (instance) (changes(trtllm_exporter_config_last_reload_success_timestamp_seconds{%s}[$__rate_interval])) > 0",
		exporters,
	)
	return Annotations{List: []Annotation{
		annotation("Restarts", "orange", restarted, "A replica restarted", "{{pool_id}} / {{replica_id}}"),
		annotation(
			"Rollouts",
			"blue",
			versions+") unless "+versions+" offset $__rate_interval)",
			"A version is new in its pool",
			"{{pool_id}} {{engine_version}} / {{trtllm_version}}",
		),
		annotation("Reloads", "purple", reloaded, "An exporter reloaded its configuration", "{{instance}}"),
	}}
}

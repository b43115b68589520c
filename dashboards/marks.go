package dashboards

import "fmt"

// Marks are the lines that a dashboard draws at what happened.
type Marks struct {
	List []Mark `json:"list"`
}

// Mark is one kind of what happened.
type Mark struct {
	Name        string      `json:"name"`
	Datasource  *Datasource `json:"datasource"`
	Enable      bool        `json:"enable"`
	Expr        string      `json:"expr"`
	IconColor   string      `json:"iconColor"`
	Step        string      `json:"step"`
	TitleFormat string      `json:"titleFormat"`
	TextFormat  string      `json:"textFormat"`
}

// marks are the restarts of replicas, the versions that come to a pool, and the
// configurations that exporters take.
func marks(d *Dashboard) Marks {
	mark := func(name, color, expr, title, text string) Mark {
		return Mark{
			Name: name, Datasource: source(), Enable: true, Expr: clustered(expr), IconColor: color, Step: "60s", TitleFormat: title, TextFormat: text,
		}
	}
	const versions = "count by (pool_id, engine_version, trtllm_version) (llm_server_info{" + ofPool + "}"
	restarted := fmt.Sprintf("max by (pool_id, replica_id) (increase(trtllm_exporter_target_restarts_total{%s}[$__rate_interval])) > 0", ofTarget)
	exporters := `instance=~".*"`
	if d.UID == "trtllm-exporter" {
		exporters = `instance=~"$instance"`
	}
	reloaded := fmt.Sprintf("max by (instance) (changes(trtllm_exporter_config_last_reload_success_timestamp_seconds{%s}[$__rate_interval])) > 0", exporters)
	return Marks{List: []Mark{
		mark("Restarts", "orange", restarted, "A replica restarted", "{{pool_id}} / {{replica_id}}"),
		mark("Rollouts", "blue", versions+") unless "+versions+" offset $__rate_interval)", "A version is new in its pool", "{{pool_id}} {{engine_version}} / {{trtllm_version}}"),
		mark("Reloads", "purple", reloaded, "An exporter took a configuration", "{{instance}}"),
	}}
}

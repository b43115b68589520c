package dashboards

import "fmt"

// Selectors of the variables; one for families of a model, one for those of a
// replica, one for what the exporter says of its targets, which has no engine.
const (
	ofModel   = `pool_id=~"$pool_id",engine=~"$engine",replica_id=~"$replica_id",model_id=~"$model_id"`
	ofReplica = `pool_id=~"$pool_id",engine=~"$engine",replica_id=~"$replica_id"`
	ofTarget  = `pool_id=~"$pool_id",replica_id=~"$replica_id"`
	ofPool    = `pool_id=~"$pool_id"`
	ofPools   = `pool_id=~"$pool_id",model_id=~"$model_id"`
)

// source is the data source that the user chose.
func source() *Datasource { return &Datasource{Type: "prometheus", UID: "${datasource}"} }

// variables are those that all dashboards about servers have, so that links
// keep what was chosen.
func variables() Templating {
	return Templating{List: []Variable{
		chooseSource(),
		chooseCluster("llm_server_state"),
		choice("pool_id", "Pool", ofClusters("llm_server_state")),
		choice("engine", "Engine", ofClusters(`llm_server_state{pool_id=~"$pool_id"}`)),
		choice("model_id", "Model", ofClusters(`llm_server_requests_per_second{pool_id=~"$pool_id",engine=~"$engine"}`)),
		choice("replica_id", "Replica", ofClusters(`llm_server_state{pool_id=~"$pool_id",engine=~"$engine"}`)),
	}}
}

// variablesOfOne are the same where not all replicas at once make sense.
func variablesOfOne() Templating {
	v := variables()
	last := &v.List[len(v.List)-1]
	last.IncludeAll, last.AllValue, last.Current = false, "", map[string]any{}
	return v
}

// chooseSource lets the user choose among his Prometheuses.
func chooseSource() Variable {
	return Variable{Name: "datasource", Label: "Data source", Type: "datasource", Query: "prometheus", Current: map[string]any{}}
}

// choice lets the user choose values of the label that has the variable's name.
func choice(name, label, of string) Variable {
	query := fmt.Sprintf("label_values(%s, %s)", of, name)
	return Variable{
		Name: name, Label: label, Type: "query", Datasource: source(),
		Query: Options{"query": query, "refId": name}, Definition: query,
		Refresh: 2, Sort: 7, Multi: true, IncludeAll: true, AllValue: ".*",
		Current: map[string]any{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
	}
}

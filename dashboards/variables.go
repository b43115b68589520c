package dashboards

import "fmt"

// Matchers of the variables, for families about models, replicas, targets (which have no
// engine), pools, and pools by model.
const (
	modelMatchers     = `pool_id=~"$pool_id",engine=~"$engine",replica_id=~"$replica_id",model_id=~"$model_id"`
	replicaMatchers   = `pool_id=~"$pool_id",engine=~"$engine",replica_id=~"$replica_id"`
	targetMatchers    = `pool_id=~"$pool_id",replica_id=~"$replica_id"`
	poolMatchers      = `pool_id=~"$pool_id"`
	poolModelMatchers = `pool_id=~"$pool_id",model_id=~"$model_id"`
)

func datasource() *Datasource { return &Datasource{Type: "prometheus", UID: "${datasource}"} }

// variables returns the variables of all dashboards about servers. Links between dashboards keep
// their values.
func variables() Templating {
	return Templating{List: []Variable{
		datasourceVariable(),
		queryVariable("cluster", "Cluster", "llm_server_state"),
		queryVariable("pool_id", "Pool", inSelectedClusters("llm_server_state")),
		queryVariable("engine", "Engine", inSelectedClusters(`llm_server_state{pool_id=~"$pool_id"}`)),
		queryVariable(
			"model_id",
			"Model",
			inSelectedClusters(`llm_server_requests_per_second{pool_id=~"$pool_id",engine=~"$engine"}`),
		),
		queryVariable(
			"replica_id",
			"Replica",
			inSelectedClusters(`llm_server_state{pool_id=~"$pool_id",engine=~"$engine"}`),
		),
	}}
}

// singleReplicaVariables returns the same variables without a choice of all replicas.
func singleReplicaVariables() Templating {
	v := variables()
	last := &v.List[len(v.List)-1]
	last.IncludeAll, last.AllValue, last.Current = false, "", map[string]any{}
	return v
}

// datasourceVariable returns the variable for the Prometheus to query.
func datasourceVariable() Variable {
	return Variable{
		Name:    "datasource",
		Label:   "Data source",
		Type:    "datasource",
		Query:   "prometheus",
		Current: map[string]any{},
	}
}

// queryVariable returns a variable for the values of the label with its name.
func queryVariable(name, label, selector string) Variable {
	query := fmt.Sprintf("label_values(%s, %s)", selector, name)
	return Variable{
		Name: name, Label: label, Type: "query", Datasource: datasource(),
		Query: Options{"query": query, "refId": name}, Definition: query,
		Refresh: 2, Sort: 7, Multi: true, IncludeAll: true, AllValue: ".*",
		Current: map[string]any{"selected": true, "text": []string{"All"}, "value": []string{"$__all"}},
	}
}

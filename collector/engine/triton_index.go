package engine

// indexEntry is one row of POST /v2/repository/index; a model that was never
// loaded has only a name.
type indexEntry struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	State   string `json:"state"`
	Reason  string `json:"reason"`
}

// listed are the models of a repository index, one for each name: the version
// that is ready where there are several. Models that were never loaded, of
// which a large repository has thousands, come last and are cut first.
func listed(index []indexEntry) []ModelFacts {
	at := make(map[string]int)
	var models, never []ModelFacts
	for _, row := range index {
		name := plainText(row.Name)
		if name == "" {
			continue
		}
		m := ModelFacts{Name: name, Version: plainText(row.Version), State: row.State}
		i, known := at[name]
		switch {
		case row.State == "":
			never = append(never, m)
		case !known:
			at[name] = len(models)
			models = append(models, m)
		case row.State == modelReady:
			models[i].State, models[i].Version = row.State, m.Version
		}
	}
	models = append(models, never...)
	return models[:min(len(models), modelsKept)]
}

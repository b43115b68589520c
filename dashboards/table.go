package dashboards

// column is a column of a table: a query for its values, or a label.
type column struct {
	title, unit string
	expr        string
	styles      []Property
}

// table returns a panel with queries side by side. keys are pairs of label and title.
func table(title, description string, keys [][2]string, columns []column) Panel {
	p := panel("table", title, description, "none", nil)
	p.Options = Options{"cellHeight": "sm", "showHeader": true}
	p.FieldConfig.Defaults.Custom = Options{
		"align":       "auto",
		"minWidth":    75,
		"filterable":  true,
		"cellOptions": Options{"type": "auto"},
	}
	keys = append([][2]string{{"cluster", "Cluster"}}, keys...)
	// Most fleets have one cluster, and long names of pools.
	p.FieldConfig.Overrides = append(
		p.FieldConfig.Overrides,
		override("byName", "Cluster", Property{"custom.width", 65}),
	)
	if len(columns) > 8 {
		p.FieldConfig.Overrides = append(
			p.FieldConfig.Overrides,
			override("byName", "Pool", Property{"custom.width", 150}),
		)
	}
	order, names, hidden := Options{}, Options{}, Options{"Time": true}
	for i, k := range keys {
		order[k[0]], names[k[0]] = i, k[1]
	}
	for i, c := range columns {
		ref := string(rune('A' + i))
		p.Targets = append(p.Targets, Target{
			RefID: ref, Datasource: datasource(), Expr: c.expr, Format: "table", Instant: true, EditorMode: "code",
		})
		field := "Value #" + ref
		if len(columns) == 1 {
			field = "Value"
		}
		if c.title == "" {
			hidden[field] = true
			continue
		}
		order[field], names[field] = len(keys)+i, c.title
		// Nobody selects numbers, and the icon of a filter takes the place of a title.
		properties := []Property{{"unit", c.unit}, {"custom.filterable", false}}
		p.FieldConfig.Overrides = append(
			p.FieldConfig.Overrides,
			override("byName", c.title, append(properties, c.styles...)...),
		)
	}
	p.Transformations = []Options{
		{"id": "merge", "options": Options{}},
		{"id": "organize", "options": Options{"excludeByName": hidden, "indexByName": order, "renameByName": names}},
	}
	return p
}

func colored(base string, pairs ...any) []Property { return cells(thresholds(base, pairs...)) }

// cells returns the properties of cells whose background has the given styles.
func cells(styles ...style) []Property {
	p := Panel{FieldConfig: &FieldConfig{}}
	p.apply(styles...)
	properties := []Property{{ID: "thresholds", Value: p.FieldConfig.Defaults.Thresholds}}
	if m := p.FieldConfig.Defaults.Mappings; m != nil {
		properties = append(properties, Property{ID: "mappings", Value: m})
	}
	return append(properties, Property{
		ID:    "custom.cellOptions",
		Value: Options{"type": "color-background", "mode": "basic"},
	})
}

// linkColumn links the values of a column to a dashboard, with the same clusters and time range.
func linkColumn(p Panel, column, title, uid, variables string) Panel {
	url := "/d/" + uid + "?${datasource:queryparam}&${cluster:queryparam}&" + variables + "&${__url_time_range}"
	p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, override("byName", column, Property{
		"links",
		[]Link{{Title: title, URL: url}},
	}))
	return p
}

// linkReplicaColumn links a column Replica, beside a column Pool.
func linkReplicaColumn(p Panel) Panel {
	return linkColumn(p, "Replica", toReplica, replicaUID,
		"var-pool_id=${__data.fields.Pool}&var-replica_id=${__value.raw}")
}

func sortedBy(title string, p Panel) Panel {
	p.Options["sortBy"] = []Options{{"displayName": title, "desc": true}}
	return p
}

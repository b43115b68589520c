package dashboards

// column is a column of a table: a query for its values, or a label.
type column struct {
	title, unit string
	expr        string
	looks       []Property
}

// table shows queries by the same labels next to each other. Every label is a
// pair of its name and its title.
func table(title, description string, keys [][2]string, columns []column) Panel {
	p := panel("table", title, description, "none", nil)
	p.Options = Options{"cellHeight": "sm", "showHeader": true}
	p.FieldConfig.Defaults.Custom = &FieldLook{Align: "auto", MinWidth: 75, Filterable: new(true), CellOptions: Options{"type": "auto"}}
	keys = append([][2]string{{"cluster", "Cluster"}}, keys...)
	// Most fleets are one cluster; names of pools are long next to many numbers.
	p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, wideAs("Cluster", 65))
	if len(columns) > 8 {
		p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, wideAs("Pool", 150))
	}
	order, names, hidden := Options{}, Options{}, Options{"Time": true}
	for i, k := range keys {
		order[k[0]], names[k[0]] = i, k[1]
	}
	for i, c := range columns {
		ref := string(rune('A' + i))
		p.Targets = append(p.Targets, Target{
			RefID: ref, Datasource: source(), Expr: c.expr, Format: "table", Instant: true, EditorMode: "code",
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
		properties := append([]Property{{ID: "unit", Value: c.unit}}, c.looks...)
		p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, Override{
			Matcher: Matcher{ID: "byName", Options: c.title}, Properties: properties,
		})
	}
	p.Transformations = []Transformation{
		{ID: "merge", Options: Options{}},
		{ID: "organize", Options: Options{"excludeByName": hidden, "indexByName": order, "renameByName": names}},
	}
	return p
}

// colored gives cells the background of their level.
func colored(base string, pairs ...any) []Property { return cells(levels(base, pairs...)) }

// flags gives the values 0 and 1 texts and colors.
func flags(zero, one Outcome) []Property { return valued([]Outcome{zero, one}) }

// valued gives the values 0, 1, 2... texts and colors.
func valued(states []Outcome) []Property { return cells(levels(unknown), mapped(states)) }

// cells gives the cells of a column the looks of a panel, in their background.
func cells(looks ...look) []Property {
	p := Panel{FieldConfig: &FieldConfig{}}
	p.dress(looks...)
	properties := []Property{{ID: "thresholds", Value: p.FieldConfig.Defaults.Thresholds}}
	if m := p.FieldConfig.Defaults.Mappings; m != nil {
		properties = append(properties, Property{ID: "mappings", Value: m})
	}
	return append(properties, Property{ID: "custom.cellOptions", Value: Options{"type": "color-background", "mode": "basic"}})
}

// leading makes the cells of a column a link.
func leading(p Panel, title, to string) Panel {
	p.FieldConfig.Overrides = append(p.FieldConfig.Overrides, Override{
		Matcher:    Matcher{ID: "byName", Options: title},
		Properties: []Property{{ID: "links", Value: []Link{{Title: "Open", URL: to}}}},
	})
	return p
}

// sorted puts the largest values of a column first.
func sorted(title string, p Panel) Panel {
	p.Options["sortBy"] = []Options{{"displayName": title, "desc": true}}
	return p
}

// wideAs gives a column a width in pixels.
func wideAs(title string, width int) Override {
	return Override{Matcher: Matcher{ID: "byName", Options: title}, Properties: []Property{{ID: "custom.width", Value: width}}}
}

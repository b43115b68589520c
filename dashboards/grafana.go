package dashboards

// Dashboard is a dashboard in schema version 39 (Grafana 11).
type Dashboard struct {
	UID          string      `json:"uid"`
	Title        string      `json:"title"`
	Description  string      `json:"description"`
	Tags         []string    `json:"tags"`
	Editable     bool        `json:"editable"`
	GraphTooltip int         `json:"graphTooltip"`
	Links        []Link      `json:"links"`
	Annotations  Annotations `json:"annotations"`
	Panels       []Panel     `json:"panels"`
	Refresh      string      `json:"refresh"`
	Schema       int         `json:"schemaVersion"`
	Templating   Templating  `json:"templating"`
	Time         TimeRange   `json:"time"`
	Timezone     string      `json:"timezone"`
	Version      int         `json:"version"`
	// rows holds the panels before complete lays them out.
	rows []row
	// exporter and runbook are the addresses that a deployment knows.
	exporter, runbook string
}

// TimeRange is the time range of a dashboard.
type TimeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Link is a link of a dashboard or a value.
type Link struct {
	Title       string   `json:"title"`
	Type        string   `json:"type,omitempty"`
	URL         string   `json:"url"`
	Icon        string   `json:"icon,omitempty"`
	Tags        []string `json:"tags,omitempty"`
	IncludeVars bool     `json:"includeVars,omitempty"`
	KeepTime    bool     `json:"keepTime,omitempty"`
	TargetBlank bool     `json:"targetBlank,omitempty"`
}

// Templating holds the variables.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is a variable of a dashboard.
type Variable struct {
	Name       string         `json:"name"`
	Label      string         `json:"label"`
	Type       string         `json:"type"`
	Datasource *Datasource    `json:"datasource,omitempty"`
	Query      any            `json:"query"`
	Definition string         `json:"definition,omitempty"`
	Refresh    int            `json:"refresh,omitempty"`
	Sort       int            `json:"sort,omitempty"`
	Multi      bool           `json:"multi"`
	IncludeAll bool           `json:"includeAll"`
	AllValue   string         `json:"allValue,omitempty"`
	Current    map[string]any `json:"current"`
	Hide       int            `json:"hide"`
}

// Datasource refers to a data source, which is always the variable here.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Grid is the position of a panel. A dashboard is 24 units wide.
type Grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Options holds options that depend on the type of panel, transformation or color.
type Options map[string]any

// Panel is a panel or the heading of a row.
type Panel struct {
	ID              int          `json:"id"`
	Type            string       `json:"type"`
	Title           string       `json:"title"`
	Description     string       `json:"description,omitempty"`
	GridPos         Grid         `json:"gridPos"`
	Datasource      *Datasource  `json:"datasource,omitempty"`
	Targets         []Target     `json:"targets,omitempty"`
	FieldConfig     *FieldConfig `json:"fieldConfig,omitempty"`
	Options         Options      `json:"options,omitempty"`
	Transformations []Options    `json:"transformations,omitempty"`
	Interval        string       `json:"interval,omitempty"`
	Collapsed       *bool        `json:"collapsed,omitempty"`
	Panels          []Panel      `json:"panels,omitempty"`
}

// Target is a query.
type Target struct {
	RefID        string      `json:"refId"`
	Datasource   *Datasource `json:"datasource"`
	Expr         string      `json:"expr"`
	LegendFormat string      `json:"legendFormat,omitempty"`
	Format       string      `json:"format"`
	Instant      bool        `json:"instant"`
	Range        bool        `json:"range"`
	EditorMode   string      `json:"editorMode"`
}

// FieldConfig defines how values look.
type FieldConfig struct {
	Defaults  Field      `json:"defaults"`
	Overrides []Override `json:"overrides"`
}

// Field defines how the values of a field look.
type Field struct {
	Unit       string      `json:"unit,omitempty"`
	Decimals   *int        `json:"decimals,omitempty"`
	Min        *float64    `json:"min,omitempty"`
	Max        *float64    `json:"max,omitempty"`
	NoValue    string      `json:"noValue,omitempty"`
	Color      Options     `json:"color,omitempty"`
	Thresholds *Thresholds `json:"thresholds,omitempty"`
	Mappings   []Mapping   `json:"mappings,omitempty"`
	Links      []Link      `json:"links,omitempty"`
	// Custom holds options that depend on the type of the panel.
	Custom Options `json:"custom,omitempty"`
}

// Thresholds holds the colors of values. The first one has no value and is below all others.
type Thresholds struct {
	Mode  string      `json:"mode"`
	Steps []Threshold `json:"steps"`
}

// Threshold is the color for values from Value on.
type Threshold struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Mapping maps values to texts and colors.
type Mapping struct {
	Type    string                 `json:"type"`
	Options map[string]MappedValue `json:"options"`
}

// MappedValue is the text and color of a value.
type MappedValue struct {
	Text  string `json:"text"`
	Color string `json:"color"`
	Index int    `json:"index"`
}

// Override overrides properties of some fields.
type Override struct {
	Matcher    Matcher    `json:"matcher"`
	Properties []Property `json:"properties"`
}

// Matcher selects fields.
type Matcher struct {
	ID      string `json:"id"`
	Options string `json:"options"`
}

// Property is an overridden property.
type Property struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
}

func override(matcher, field string, properties ...Property) Override {
	return Override{Matcher{matcher, field}, properties}
}

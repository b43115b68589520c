package dashboards

// Dashboard is a dashboard in the schema of Grafana 11 (39).
type Dashboard struct {
	Heading
	Editable     bool       `json:"editable"`
	GraphTooltip int        `json:"graphTooltip"`
	Links        []Link     `json:"links"`
	Annotations  Marks      `json:"annotations"`
	Panels       []Panel    `json:"panels"`
	Refresh      string     `json:"refresh"`
	Schema       int        `json:"schemaVersion"`
	Templating   Templating `json:"templating"`
	Time         TimeRange  `json:"time"`
	Timezone     string     `json:"timezone"`
	Version      int        `json:"version"`
	// rows are what panels are laid out from.
	rows []row
	// runbook is the address of another runbook; empty for ours.
	runbook string
}

// Heading is by what a dashboard is known and found.
type Heading struct {
	UID         string   `json:"uid"`
	Title       string   `json:"title"`
	Description string   `json:"description"`
	Tags        []string `json:"tags"`
}

// TimeRange is what a dashboard opens with.
type TimeRange struct {
	From string `json:"from"`
	To   string `json:"to"`
}

// Link leads from one dashboard to another, or from a value to a dashboard.
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

// Templating are the variables.
type Templating struct {
	List []Variable `json:"list"`
}

// Variable is one of the choices at the top of a dashboard.
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

// Datasource names where queries go; here always the variable.
type Datasource struct {
	Type string `json:"type"`
	UID  string `json:"uid"`
}

// Grid is the place of a panel, 24 units wide.
type Grid struct {
	H int `json:"h"`
	W int `json:"w"`
	X int `json:"x"`
	Y int `json:"y"`
}

// Options are what only one type of panel has, by Grafana's names.
type Options map[string]any

// Panel is one panel, or the head of a row.
type Panel struct {
	ID              int              `json:"id"`
	Type            string           `json:"type"`
	Title           string           `json:"title"`
	Description     string           `json:"description,omitempty"`
	GridPos         Grid             `json:"gridPos"`
	Datasource      *Datasource      `json:"datasource,omitempty"`
	Targets         []Target         `json:"targets,omitempty"`
	FieldConfig     *FieldConfig     `json:"fieldConfig,omitempty"`
	Options         Options          `json:"options,omitempty"`
	Transformations []Transformation `json:"transformations,omitempty"`
	Interval        string           `json:"interval,omitempty"`
	Collapsed       *bool            `json:"collapsed,omitempty"`
	Panels          []Panel          `json:"panels,omitempty"`
}

// Target is one query.
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

// FieldConfig is how values look.
type FieldConfig struct {
	Defaults  Field      `json:"defaults"`
	Overrides []Override `json:"overrides"`
}

// Field is how the values of a field look.
type Field struct {
	Unit       string     `json:"unit,omitempty"`
	Decimals   *int       `json:"decimals,omitempty"`
	Min        *float64   `json:"min,omitempty"`
	Max        *float64   `json:"max,omitempty"`
	NoValue    string     `json:"noValue,omitempty"`
	Color      *Color     `json:"color,omitempty"`
	Thresholds *Levels    `json:"thresholds,omitempty"`
	Mappings   []Mapping  `json:"mappings,omitempty"`
	Links      []Link     `json:"links,omitempty"`
	Custom     *FieldLook `json:"custom,omitempty"`
}

// Color is how a color is chosen.
type Color struct {
	Mode       string `json:"mode"`
	FixedColor string `json:"fixedColor,omitempty"`
}

// Levels are thresholds; the first has no value, as the color below all others.
type Levels struct {
	Mode  string  `json:"mode"`
	Steps []Level `json:"steps"`
}

// Level is a color from a value on.
type Level struct {
	Color string   `json:"color"`
	Value *float64 `json:"value"`
}

// Mapping gives values texts and colors.
type Mapping struct {
	Type    string             `json:"type"`
	Options map[string]Outcome `json:"options"`
}

// Outcome is the text and color of a value.
type Outcome struct {
	Text  string `json:"text"`
	Color string `json:"color"`
	Index int    `json:"index"`
}

// FieldLook is what panel types add to a field.
type FieldLook struct {
	DrawStyle         string   `json:"drawStyle,omitempty"`
	LineInterpolation string   `json:"lineInterpolation,omitempty"`
	LineWidth         *int     `json:"lineWidth,omitempty"`
	FillOpacity       *int     `json:"fillOpacity,omitempty"`
	GradientMode      string   `json:"gradientMode,omitempty"`
	ShowPoints        string   `json:"showPoints,omitempty"`
	SpanNulls         *bool    `json:"spanNulls,omitempty"`
	Stacking          Options  `json:"stacking,omitempty"`
	ThresholdsStyle   Options  `json:"thresholdsStyle,omitempty"`
	AxisSoftMin       *float64 `json:"axisSoftMin,omitempty"`
	AxisSoftMax       *float64 `json:"axisSoftMax,omitempty"`
	Align             string   `json:"align,omitempty"`
	MinWidth          int      `json:"minWidth,omitempty"`
	CellOptions       Options  `json:"cellOptions,omitempty"`
	Filterable        *bool    `json:"filterable,omitempty"`
}

// Override changes some fields.
type Override struct {
	Matcher    Matcher    `json:"matcher"`
	Properties []Property `json:"properties"`
}

// Matcher chooses fields.
type Matcher struct {
	ID      string `json:"id"`
	Options string `json:"options"`
}

// Property is one thing to change.
type Property struct {
	ID    string `json:"id"`
	Value any    `json:"value"`
}

// Transformation changes what queries returned.
type Transformation struct {
	ID      string  `json:"id"`
	Options Options `json:"options"`
}

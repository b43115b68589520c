package dashboards

// Reduce says which of many values a panel shows.
type Reduce struct {
	Calcs  []string `json:"calcs"`
	Fields string   `json:"fields"`
	Values bool     `json:"values"`
}

// Legend is the legend of a graph.
type Legend struct {
	Calcs       []string `json:"calcs"`
	DisplayMode string   `json:"displayMode"`
	Placement   string   `json:"placement"`
	ShowLegend  bool     `json:"showLegend"`
}

// Tooltip is what is shown at the mouse.
type Tooltip struct {
	Mode string `json:"mode"`
	Sort string `json:"sort"`
}

// GraphOptions are those of time series.
type GraphOptions struct {
	Legend  Legend  `json:"legend"`
	Tooltip Tooltip `json:"tooltip"`
}

// StatOptions are those of single numbers.
type StatOptions struct {
	ReduceOptions Reduce `json:"reduceOptions"`
	ColorMode     string `json:"colorMode"`
	GraphMode     string `json:"graphMode"`
	JustifyMode   string `json:"justifyMode"`
	Orientation   string `json:"orientation"`
	TextMode      string `json:"textMode"`
	WideLayout    bool   `json:"wideLayout"`
}

// BarOptions are those of bar gauges.
type BarOptions struct {
	ReduceOptions Reduce `json:"reduceOptions"`
	DisplayMode   string `json:"displayMode"`
	Orientation   string `json:"orientation"`
	ValueMode     string `json:"valueMode"`
	ShowUnfilled  bool   `json:"showUnfilled"`
	MinVizHeight  int    `json:"minVizHeight"`
	MaxVizHeight  int    `json:"maxVizHeight"`
	MinVizWidth   int    `json:"minVizWidth"`
	NamePlacement string `json:"namePlacement"`
	Sizing        string `json:"sizing"`
	Text          Sizes  `json:"text"`
}

// Sizes are those of the texts of a bar, in pixels.
type Sizes struct {
	TitleSize int `json:"titleSize"`
	ValueSize int `json:"valueSize"`
}

// TableOptions are those of tables.
type TableOptions struct {
	CellHeight string      `json:"cellHeight"`
	ShowHeader bool        `json:"showHeader"`
	SortBy     []SortOrder `json:"sortBy,omitempty"`
}

// SortOrder is a column to sort by.
type SortOrder struct {
	DisplayName string `json:"displayName"`
	Desc        bool   `json:"desc"`
}

// TimelineOptions are those of state timelines.
type TimelineOptions struct {
	MergeValues bool    `json:"mergeValues"`
	ShowValue   string  `json:"showValue"`
	AlignValue  string  `json:"alignValue"`
	RowHeight   float64 `json:"rowHeight"`
	Legend      Legend  `json:"legend"`
	Tooltip     Tooltip `json:"tooltip"`
}

// HeatOptions are those of heatmaps of histograms.
type HeatOptions struct {
	Calculate    bool         `json:"calculate"`
	CellGap      int          `json:"cellGap"`
	Color        HeatColor    `json:"color"`
	FilterValues HeatFilter   `json:"filterValues"`
	YAxis        HeatAxis     `json:"yAxis"`
	RowsFrame    HeatLayout   `json:"rowsFrame"`
	Legend       HeatLegend   `json:"legend"`
	Tooltip      HeatTooltip  `json:"tooltip"`
	CellValues   HeatCellUnit `json:"cellValues"`
}

// HeatColor is the scheme of a heatmap.
type HeatColor struct {
	Mode   string `json:"mode"`
	Scheme string `json:"scheme"`
	Steps  int    `json:"steps"`
}

// HeatFilter hides cells up to a value.
type HeatFilter struct {
	LE float64 `json:"le"`
}

// HeatAxis is the axis of the buckets.
type HeatAxis struct {
	Unit string `json:"unit"`
}

// HeatLayout says what the name of a bucket is the bound of.
type HeatLayout struct {
	Layout string `json:"layout"`
}

// HeatLegend shows the scale of colors.
type HeatLegend struct {
	Show bool `json:"show"`
}

// HeatTooltip is what is shown at the mouse.
type HeatTooltip struct {
	Mode       string `json:"mode"`
	YHistogram bool   `json:"yHistogram"`
}

// HeatCellUnit is the unit of a cell.
type HeatCellUnit struct {
	Unit string `json:"unit"`
}

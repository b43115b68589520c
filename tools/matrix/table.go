package matrix

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// head begins the table.
const head = `Results for every kind of server in every scenario, at its last page.

state       state of the replica
verdict     ok, look or broken; "failures unseen" if failing requests would go unnoticed, because the server does not expose them and
            there is no canary
requests/s  completed requests per second over the window
client      share of client errors among them, and so on; ok is not shown
seconds     mean duration of a request
alerts      alerts that fire while the scenario lasts for twenty minutes, in a pool with only this replica and an availability objective
            of 99 %; see alerts/values.yaml
-           absent

If shares are absent although requests completed, the line below the server has the reason.
`

// columns returns the heads of the columns.
func columns() []string {
	return []string{
		"scenario", "state", "verdict", "requests/s", "client", "canceled", "overload", "server", "seconds",
		"alerts",
	}
}

// Firing returns the alerts that fire in a cell of the table.
type Firing func(server, scenario string) []string

// Player is Play, or a cache of its results.
type Player func(*Server, *Scenario) ([]Result, error)

// Table returns the table as text; firing comes from Prometheus.
func Table(play Player, firing Firing) (string, error) {
	var b strings.Builder
	b.WriteString(head)
	for _, server := range Servers() {
		rows, outcomes := [][]string{columns()}, Answer{}
		for _, scenario := range Scenarios() {
			all, err := play(&server, &scenario)
			if err != nil {
				return "", err
			}
			last := &all[len(all)-1]
			if scenario.Name == "healthy" {
				outcomes = last.Capabilities["outcomes"]
			}
			rows = append(rows, row(scenario.Name, last, firing(server.Name, scenario.Name)))
		}
		fmt.Fprintf(&b, "\n%s\noutcomes: %s: %s\n", server.Name, word(outcomes.OK), outcomes.Reason)
		write(&b, rows)
	}
	return b.String(), nil
}

// none marks cells without alerts.
const none = "-"

// ParseAlerts parses the alerts of a table.
func ParseAlerts(table string) Firing {
	cells, server := make(map[[2]string][]string), ""
	gap := regexp.MustCompile(` {2,}`)
	for paragraph := range strings.SplitSeq(table, "\n\n") {
		lines := strings.Split(paragraph, "\n")
		server = lines[0]
		for _, line := range lines[1:] {
			fields := gap.Split(line, -1)
			if len(fields) != len(columns()) || fields[len(fields)-1] == none {
				continue
			}
			cells[[2]string{server, fields[0]}] = strings.Split(fields[len(fields)-1], " ")
		}
	}
	return func(server, scenario string) []string { return cells[[2]string{server, scenario}] }
}

// word returns yes or no.
func word(ok bool) string {
	if ok {
		return "yes"
	}
	return "no"
}

// row returns a row of the table.
func row(name string, s *Result, alerts []string) []string {
	verdict := string(s.Severity)
	if s.Unshown && s.Severity == assess.OK {
		verdict += ", failures unseen"
	}
	cells := []string{name, string(s.State), verdict, cell(s.Value("requests_per_second"))}
	for _, class := range engine.Classes() {
		if class != engine.ClassOK {
			cells = append(cells, cell(s.Value("request_error_ratio", "class", string(class))))
		}
	}
	if len(alerts) == 0 {
		alerts = []string{none}
	}
	return append(cells, cell(s.Value("request_duration_average_seconds")), strings.Join(alerts, " "))
}

// cell formats a number with two decimals, or a dash.
func cell(v float64, ok bool) string {
	if !ok {
		return "-"
	}
	return strings.TrimSuffix(strings.TrimRight(strconv.FormatFloat(v, 'f', 2, 64), "0"), ".")
}

// write writes aligned columns.
func write(b *strings.Builder, rows [][]string) {
	w := tabwriter.NewWriter(b, 0, 0, 2, ' ', 0)
	for _, r := range rows {
		_, _ = fmt.Fprintln(w, strings.Join(r, "\t"))
	}
	_ = w.Flush()
}

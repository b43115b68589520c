package main

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/derive"
	"github.com/trtllm-exporter/trtllm_exporter/tools/matrix"
)

// topic is a group of quantities that servers often lack together.
type topic struct {
	name string
	// all is what the tables write for its quantities if they are absent for the same reason.
	all        string
	quantities []string
}

func topics() []topic {
	return []topic{
		{
			name:       "outcomes",
			all:        "all outcomes",
			quantities: []string{"server errors", "rejections for lack of capacity", "client errors", "canceled"},
		},
		{
			name: "load",
			all:  "all of the load",
			quantities: []string{
				"queue", "hidden queue of the executor", "running requests", "request limit", "request headroom",
				"limiting resource",
			},
		},
		{
			name:       "KV cache",
			all:        "all of the KV cache",
			quantities: []string{"KV cache utilization", "KV cache size", "KV cache reuse"},
		},
		{
			name: "latency",
			all:  "all latencies",
			quantities: []string{
				"E2E, mean",
				"E2E, percentiles", "TTFT", "ITL, between tokens", "TPOT, mean of a request", "time in the queue",
			},
		},
	}
}

// serversPage returns docs/servers.md.
func serversPage() ([]byte, error) {
	findings, err := findingsOf(matrix.Servers())
	if err != nil {
		return nil, err
	}
	return serversPageOf(findings)
}

// findingsOf returns the quantities of servers.
func findingsOf(all []matrix.Server) ([][]matrix.Finding, error) {
	findings := make([][]matrix.Finding, 0, len(all))
	for i := range all {
		quantities, err := matrix.Findings(matrix.Play, &all[i])
		if err != nil {
			return nil, err
		}
		findings = append(findings, quantities)
	}
	return findings, nil
}

// serversPageOf returns docs/servers.md for the quantities of [matrix.Servers].
func serversPageOf(findings [][]matrix.Finding) ([]byte, error) {
	older, err := findingsOf(matrix.Releases())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(serversHead)
	quantities(&b)
	var products []string
	missing := make(map[string][]gaps)
	findings = slices.Concat(findings, older)
	for i, server := range slices.Concat(matrix.Servers(), matrix.Releases()) {
		product := strings.FieldsFunc(server.Name, func(r rune) bool { return r == ' ' || r == ',' })[0]
		if missing[product] == nil {
			products = append(products, product)
		}
		name := strings.Trim(strings.TrimPrefix(server.Name, product), " ,")
		missing[product] = append(missing[product], gaps{name, gapsOf(findings[i])})
	}
	var sections strings.Builder
	for _, product := range products {
		section(&sections, product, missing[product])
	}
	text := sections.String()
	for _, t := range topics() {
		list := strings.Join(t.quantities, "; ")
		if !strings.Contains(text, list) {
			return nil, fmt.Errorf("no server lacks all quantities of topic %s: %s", t.name, list)
		}
		text = strings.ReplaceAll(text, list, t.all)
	}
	b.WriteString(text)
	releases(&b, assess.Catalogue())
	return b.Bytes(), nil
}

// quantities writes the table of quantities with their topics and families.
func quantities(b *bytes.Buffer) {
	b.WriteString("| topic | quantity | grade and family |\n| --- | --- | --- |\n")
	for _, q := range matrix.Quantities() {
		topic := ""
		for _, t := range topics() {
			if slices.Contains(t.quantities, q.Name) {
				topic = t.name
			}
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", topic, q.Name, source(&q))
	}
}

// gaps lists what a server does not expose.
type gaps struct {
	server string
	all    []gap
}

// gap lists quantities that are absent for the same reason.
type gap struct{ quantities, reason string }

// gapsOf returns what a server does not expose, by reason.
func gapsOf(findings []matrix.Finding) (all []gap) {
	for _, g := range findings {
		if g.Shown {
			continue
		}
		reason := g.Why
		if g.Cure != "" {
			reason += ". Fix: " + g.Cure
		}
		i := slices.IndexFunc(all, func(r gap) bool { return r.reason == reason })
		if i < 0 {
			all = append(all, gap{g.Name, reason})
		} else {
			all[i].quantities += "; " + g.Name
		}
	}
	return all
}

// section writes the table of a product: what is absent, why, and for which servers.
func section(b *strings.Builder, product string, servers []gaps) {
	fmt.Fprintf(b, "\n## %s\n\n| absent | why | servers |\n| --- | --- | --- |\n", product)
	names := make(map[gap][]string)
	var order []gap
	for _, s := range servers {
		for _, g := range s.all {
			if names[g] == nil {
				order = append(order, g)
			}
			names[g] = append(names[g], s.server)
		}
	}
	for _, g := range order {
		text := strings.Join(names[g], "; ")
		if len(names[g]) == len(servers) {
			text = "all"
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", g.quantities, g.reason, text)
	}
}

// source returns the series of a quantity, with the grades of families.
func source(q *matrix.Quantity) string {
	switch {
	case q.State != "":
		return fmt.Sprintf("`llm_server_state{state=%q}`", q.State)
	case q.Suspected:
		return "`llm_server_suspected`; `llm_server_state{state=\"stalled\"}` once a request of the exporter proves it"
	}
	catalogue := assess.Catalogue()
	all := make([]string, len(q.Families))
	for i, family := range q.Families {
		name := derive.Prefix + family
		pos := slices.IndexFunc(catalogue, func(f derive.Family) bool { return f.Name == name })
		if q.Class != "" {
			name = fmt.Sprintf("%s{class=%q}", name, q.Class)
		}
		all[i] = string(catalogue[pos].Grade) + " " + words([]string{name})
	}
	return strings.Join(all, ", ")
}

// The program playrules runs test files of `promtool test rules`, as far as they consist of series and queries.
// It evaluates with Prometheus' engine and rules, and keeps samples in memory: promtool takes twice the time.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql"
	"github.com/prometheus/prometheus/promql/parser"
	"github.com/prometheus/prometheus/rules"
	"go.yaml.in/yaml/v2"
)

// file is a test file. Rules are files beside it.
type file struct {
	RuleFiles []string       `yaml:"rule_files"`
	Every     model.Duration `yaml:"evaluation_interval"`
	Order     []string       `yaml:"group_eval_order"`
	// Fuzzy is there for promtool; values are always compared like that.
	Fuzzy bool   `yaml:"fuzzy_compare"`
	Tests []test `yaml:"tests"`
}

// test is a history, and what queries return of it.
type test struct {
	Name     string         `yaml:"name"`
	Interval model.Duration `yaml:"interval"`
	Input    []struct {
		Series string `yaml:"series"`
		Values string `yaml:"values"`
	} `yaml:"input_series"`
	Queries []query `yaml:"promql_expr_test"`
}

type query struct {
	Expr    string         `yaml:"expr"`
	At      model.Duration `yaml:"eval_time"`
	Samples []struct {
		Labels string  `yaml:"labels"`
		Value  float64 `yaml:"value"`
	} `yaml:"exp_samples"`
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: playrules FILE")
		os.Exit(2)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(name string) error {
	text, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	var f file
	if err := yaml.UnmarshalStrict(text, &f); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	var errs []error
	for i := range f.Tests {
		if err := f.play(&f.Tests[i]); err != nil {
			errs = append(errs, fmt.Errorf("%s\n%w", f.Tests[i].Name, err))
		}
	}
	return errors.Join(errs...)
}

// player has what a test is played with.
type player struct {
	parser  parser.Parser
	memory  *memory
	engine  *promql.Engine
	groups  []*rules.Group
	pending []pending
}

// pending are the samples of a series that are still to come.
type pending struct {
	series  *series
	samples []sample
}

func (f *file) play(t *test) error {
	p := &player{parser: parser.NewParser(parser.Options{}), memory: newMemory()}
	p.engine = promql.NewEngine(promql.EngineOpts{
		MaxSamples:               math.MaxInt32,
		Timeout:                  time.Hour,
		NoStepSubqueryIntervalFn: func(int64) int64 { return time.Duration(f.Every).Milliseconds() },
		EnableAtModifier:         true,
		EnableNegativeOffset:     true,
		Parser:                   p.parser,
	})
	if err := p.read(t); err != nil {
		return err
	}
	if err := p.load(f, t); err != nil {
		return err
	}
	var last time.Duration
	for i := range t.Queries {
		last = max(last, time.Duration(t.Queries[i].At))
	}
	for at := time.Duration(0); at <= last; at += time.Duration(f.Every) {
		if err := p.evaluate(time.Unix(0, 0).UTC().Add(at)); err != nil {
			return err
		}
	}
	var errs []error
	for i := range t.Queries {
		errs = append(errs, p.ask(&t.Queries[i]))
	}
	return errors.Join(errs...)
}

// read reads the series of a test.
func (p *player) read(t *test) error {
	for _, input := range t.Input {
		set, values, err := p.parser.ParseSeriesDesc(input.Series + " " + input.Values)
		if err != nil {
			return fmt.Errorf("%s: %w", input.Series, err)
		}
		next := pending{series: p.memory.of(set)}
		for i, v := range values {
			if !v.Omitted {
				at := time.Duration(i) * time.Duration(t.Interval)
				next.samples = append(next.samples, sample{at.Milliseconds(), v.Value})
			}
		}
		p.pending = append(p.pending, next)
	}
	return nil
}

// load reads the rules, in the order of their groups.
func (p *player) load(f *file, t *test) error {
	manager := rules.NewManager(&rules.ManagerOptions{
		QueryFunc:  rules.EngineQueryFunc(p.engine, p.memory),
		Appendable: p.memory,
		Context:    context.Background(),
		NotifyFunc: func(context.Context, string, ...*rules.Alert) {},
		Logger:     slog.New(slog.DiscardHandler),
		Parser:     p.parser,
	})
	groups, errs := manager.LoadGroups(time.Duration(t.Interval), labels.EmptyLabels(), "", nil, false, f.RuleFiles...)
	if errs != nil {
		return errors.Join(errs...)
	}
	for _, g := range groups {
		p.groups = append(p.groups, g)
		for _, r := range g.Rules() {
			if alert, ok := r.(*rules.AlertingRule); ok {
				alert.SetRestored(true) // As if Prometheus had started long ago: only then there is ALERTS.
			}
		}
	}
	slices.SortFunc(p.groups, func(a, b *rules.Group) int {
		return slices.Index(f.Order, a.Name()) - slices.Index(f.Order, b.Name())
	})
	return nil
}

// evaluate adds the samples until a time, and evaluates all rules at it.
func (p *player) evaluate(now time.Time) error {
	for i := range p.pending {
		next := &p.pending[i]
		for len(next.samples) > 0 && next.samples[0].at <= now.UnixMilli() {
			if err := next.series.add(next.samples[0].at, next.samples[0].value); err != nil {
				return fmt.Errorf("%s: %w", next.series.set, err)
			}
			next.samples = next.samples[1:]
		}
	}
	for _, g := range p.groups {
		g.Eval(context.Background(), now)
		for _, r := range g.Rules() {
			if err := r.LastError(); err != nil {
				return fmt.Errorf("rule %s at %s: %w", r.Name(), now.Format(time.TimeOnly), err)
			}
		}
	}
	return nil
}

// ask compares what a query returns with what it should.
func (p *player) ask(q *query) error {
	vector, err := rules.EngineQueryFunc(p.engine, p.memory)(
		context.Background(), q.Expr, time.Unix(0, 0).UTC().Add(time.Duration(q.At)))
	if err != nil {
		return fmt.Errorf("expr %q: %w", q.Expr, err)
	}
	var want promql.Vector
	for _, s := range q.Samples {
		set, err := p.parser.ParseMetric(s.Labels)
		if err != nil {
			return fmt.Errorf("labels %q: %w", s.Labels, err)
		}
		want = append(want, promql.Sample{Metric: set, F: s.Value})
	}
	byLabels := func(a, b promql.Sample) int { return labels.Compare(a.Metric, b.Metric) }
	slices.SortFunc(vector, byLabels)
	slices.SortFunc(want, byLabels)
	if slices.EqualFunc(want, vector, alike) {
		return nil
	}
	return fmt.Errorf("    expr: %q, time: %s,\n        exp: %s\n        got: %s", q.Expr, q.At, written(want), written(vector))
}

// alike reports whether two samples have the same labels, and values that differ by rounding at most.
func alike(a, b promql.Sample) bool {
	return labels.Equal(a.Metric, b.Metric) &&
		(a.F == b.F || math.Nextafter(a.F, math.Inf(-1)) == b.F || math.Nextafter(a.F, math.Inf(1)) == b.F)
}

func written(vector promql.Vector) string {
	var all []string
	for _, s := range vector {
		all = append(all, fmt.Sprintf("%s %g", s.Metric, s.F))
	}
	if len(all) == 0 {
		return "nil"
	}
	return strings.Join(all, ", ")
}

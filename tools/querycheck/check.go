// Package querycheck checks the queries of dashboards and rules against the vocabulary: every
// metric must be served by the exporter, every label must exist on the metric and in the
// result so far, and rates need counters. Begin reading at Check.
//
// It is a module of its own because nothing else needs the parser of PromQL.
package querycheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/trtllm-exporter/trtllm_exporter/tools/vocabulary"
)

// Check returns the sorted labels of a query's result, and its problems.
func Check(v vocabulary.Vocabulary, query string) (result, problems []string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return nil, []string{err.Error()}
	}
	c := &checker{vocabulary: v}
	result = c.labels(expr, false)
	slices.Sort(result)
	return slices.Compact(result), c.problems
}

// checker checks a query.
type checker struct {
	vocabulary vocabulary.Vocabulary
	problems   []string
	// present is set inside aggregations that ask which series there are, whatever their values.
	present bool
}

func (c *checker) fault(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// labels returns the labels of an expression's result; counted is set inside functions that
// take counters.
func (c *checker) labels(expr parser.Expr, counted bool) []string {
	switch e := expr.(type) {
	case *parser.VectorSelector:
		return c.selector(e, counted)
	case *parser.MatrixSelector:
		return c.labels(e.VectorSelector, counted)
	case *parser.SubqueryExpr:
		return c.labels(e.Expr, false)
	case *parser.ParenExpr:
		return c.labels(e.Expr, counted)
	case *parser.UnaryExpr:
		return c.labels(e.Expr, counted)
	case *parser.StepInvariantExpr:
		return c.labels(e.Expr, counted)
	case *parser.AggregateExpr:
		return c.aggregation(e)
	case *parser.BinaryExpr:
		return c.binary(e)
	case *parser.Call:
		return c.call(e)
	default:
		return nil
	}
}

func (c *checker) selector(s *parser.VectorSelector, counted bool) []string {
	m, exists := c.vocabulary[s.Name]
	if !exists {
		c.fault("%s is not a metric of the exporter", s.Name)
		return nil
	}
	for _, matcher := range s.LabelMatchers {
		if matcher.Name != labels.MetricName && !slices.Contains(m.Labels, matcher.Name) {
			c.fault("%s has no label %s", s.Name, matcher.Name)
		}
	}
	switch isCounter := m.Type == model.MetricTypeCounter; {
	case counted && !isCounter:
		c.fault("rate of %s, which is a %s", s.Name, m.Type)
	case !counted && isCounter && !c.present:
		c.fault("%s is a counter and needs a rate", s.Name)
	}
	return slices.Clone(m.Labels)
}

func (c *checker) aggregation(e *parser.AggregateExpr) []string {
	outside := c.present
	c.present = outside || e.Op == parser.COUNT || e.Op == parser.GROUP
	inner := c.labels(e.Expr, false)
	c.present = outside
	if e.Without {
		return without(inner, e.Grouping...)
	}
	c.all("by", e.Grouping, inner)
	switch e.Op {
	case parser.TOPK, parser.BOTTOMK, parser.LIMITK, parser.LIMIT_RATIO:
		return inner
	case parser.COUNT_VALUES:
		if s, ok := e.Param.(*parser.StringLiteral); ok {
			return append(slices.Clone(e.Grouping), s.Val)
		}
	default:
	}
	return slices.Clone(e.Grouping)
}

// all reports labels that do not exist.
func (c *checker) all(where string, wanted, present []string) {
	for _, l := range wanted {
		if !slices.Contains(present, l) {
			c.fault("%s (%s): no such label", where, l)
		}
	}
}

func (c *checker) binary(e *parser.BinaryExpr) []string {
	left, right := c.labels(e.LHS, false), c.labels(e.RHS, false)
	m := e.VectorMatching
	switch {
	case e.LHS.Type() != parser.ValueTypeVector:
		return right
	case e.RHS.Type() != parser.ValueTypeVector || m == nil:
		return left
	}
	if m.On {
		c.all("on", m.MatchingLabels, left)
		c.all("on", m.MatchingLabels, right)
	} else if l, r := without(left, m.MatchingLabels...), without(right, m.MatchingLabels...); !same(l, r) && e.Op != parser.LOR {
		c.fault("%s matches {%s} with {%s}, which have different labels", e.Op, strings.Join(l, ","), strings.Join(r, ","))
	}
	switch {
	case e.Op == parser.LOR:
		return append(left, right...)
	case e.Op == parser.LAND || e.Op == parser.LUNLESS:
		return left
	case m.Card == parser.CardManyToOne:
		return append(left, m.Include...)
	case m.Card == parser.CardOneToMany:
		return append(right, m.Include...)
	case m.On:
		return slices.Clone(m.MatchingLabels)
	default:
		return without(left, m.MatchingLabels...)
	}
}

func (c *checker) call(e *parser.Call) []string {
	counted := slices.Contains([]string{"rate", "irate", "increase", "resets"}, e.Func.Name)
	var result []string
	for _, arg := range e.Args {
		switch arg.Type() {
		case parser.ValueTypeVector, parser.ValueTypeMatrix:
			result = c.labels(arg, counted)
		default:
		}
	}
	switch e.Func.Name {
	case "histogram_quantile":
		c.all("histogram_quantile", []string{"le"}, result)
		return without(result, "le")
	case "label_replace", "label_join":
		if s, ok := e.Args[1].(*parser.StringLiteral); ok {
			return append(result, s.Val)
		}
	case "absent", "absent_over_time":
		return c.equalities(e.Args[0])
	case "vector", "scalar", "time":
		return nil
	default:
	}
	return result
}

// equalities returns the labels of the result of absent.
func (c *checker) equalities(arg parser.Expr) []string {
	var names []string
	if s, ok := arg.(*parser.VectorSelector); ok {
		for _, m := range s.LabelMatchers {
			if m.Type == labels.MatchEqual && m.Name != labels.MetricName {
				names = append(names, m.Name)
			}
		}
	}
	return names
}

// without returns the names without some.
func without(names []string, removed ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(removed, n) })
}

// same reports whether two lists have the same names.
func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

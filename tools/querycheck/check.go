// Package querycheck holds the queries of dashboards and rules to the
// vocabulary: every metric is one that the exporter serves, every label is one
// that the metric has and that survived so far, rates are of counters only.
//
// It is a module of its own because the parser of PromQL is needed by nothing
// else.
package querycheck

import (
	"fmt"
	"slices"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"github.com/prometheus/prometheus/promql/parser"

	"github.com/trtllm-exporter/trtllm_exporter/alerts/vocabulary"
)

// Check parses a query and returns the labels that its result may have, sorted,
// and all that is wrong with it.
func Check(v vocabulary.Vocabulary, query string) (result, problems []string) {
	expr, err := parser.NewParser(parser.Options{}).ParseExpr(query)
	if err != nil {
		return nil, []string{err.Error()}
	}
	c := &checker{known: v}
	result = c.labels(expr, false)
	slices.Sort(result)
	return slices.Compact(result), c.problems
}

// checker walks one query.
type checker struct {
	known    vocabulary.Vocabulary
	problems []string
}

func (c *checker) fault(format string, args ...any) {
	c.problems = append(c.problems, fmt.Sprintf(format, args...))
}

// labels are those that the value of an expression may have; counted says that
// it is in a function that takes counters.
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
	m, known := c.known[s.Name]
	if !known {
		c.fault("%s is no metric of the exporter", s.Name)
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
	case !counted && isCounter:
		c.fault("%s is a counter and wants a rate", s.Name)
	}
	return slices.Clone(m.Labels)
}

func (c *checker) aggregation(e *parser.AggregateExpr) []string {
	inner := c.labels(e.Expr, false)
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

// all faults labels that are not there.
func (c *checker) all(where string, wanted, there []string) {
	for _, l := range wanted {
		if !slices.Contains(there, l) {
			c.fault("%s (%s): there is no such label", where, l)
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
		c.fault("%s matches {%s} with {%s}, which have not the same labels", e.Op, strings.Join(l, ","), strings.Join(r, ","))
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

// equalities are the labels that absent gives its result.
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

// without is a copy less some names.
func without(names []string, less ...string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(less, n) })
}

// same says whether two lists have the same names.
func same(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(slices.Compact(a), slices.Compact(b))
}

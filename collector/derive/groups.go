package derive

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// shown is what a page shows of a signal.
type shown struct {
	groups []*group
	// values are the columns of all groups, and observed those of distributions. Both are nil until a
	// rule asks for them.
	values   []int
	observed *observations
}

// observations are the columns of sums and counts, from which follows a mean.
type observations struct {
	sums, counts []int
}

// haveMean reports whether the page shows both.
func (o observations) haveMean() bool { return len(o.sums) > 0 && len(o.counts) > 0 }

// group holds the numbers of one derived series, or of one histogram or summary.
type group struct {
	signal        engine.Signal
	labels        labels.Labels
	model         *Model
	name, version string
	role          engine.Role
	class         engine.Class
	ofModel       bool
	form          engine.Form
	// shift is in decimal places to base units.
	shift   int
	combine engine.Combine
	outcome *engine.Outcome
	// fail lists the classes of requests that a histogram observes although they did not end well.
	fail []engine.Class
	// late is true for counts of what requests did before they ended.
	late bool
	// perRequest is true for tokens of one inference of each request.
	perRequest bool
	// source is the server's name of the series.
	source string

	// value holds a single value; of a distribution the other one is set.
	value numbers
	*parts

	// byVersion divides the value by model and version, for rules that ask for it.
	byVersion []ofVersion

	// sizes are what the value is a part of. proviso is what must hold besides for it to be right.
	sizes   []*group
	proviso proviso
	// endsEarly is true for times that may end when a model hands its requests over, acceptance for
	// counters of requests that a model accepted and whose end it counts itself: failures among them
	// never reached the model.
	endsEarly, acceptance bool
	// doubles is true for counters of failures that count each of them twice, of whichever class.
	doubles bool
	// batches is true for groups of models that batch otherwise than in flight, computes for those of
	// models that compute themselves and answer when they are done.
	batches, computes bool
	// times is true for times that take some, so that all of them together are not 0.
	times bool
	// fails counts requests that did not end well and that a histogram observes, too.
	fails []*group
	// instance is the model and version that the group belongs to.
	instance *Model
}

// numbers are series of the page that make up one value.
type numbers struct {
	sources []int
	// columns is where the window has them, nil until a rule asks for them.
	columns []int
	// first describes the first of them on the page.
	first copiedNumber
}

// parts holds the numbers of a histogram or summary. The zero value has none.
type parts struct {
	buckets, quantiles []point
	sum, count         part
	// histogram is the number of one whose growth is computed once a page, from 1.
	histogram int
}

// noParts stands for the parts of groups that have a single value.
//
//nolint:gochecknoglobals // constant data.
var noParts parts

// part is one of the numbers of a distribution. A copied histogram has them at places.
type part struct {
	numbers

	places []exposition.ValueIndex
}

// point is a bucket of a histogram, with its bound in base units, or a quantile of a summary.
type point struct {
	part

	bound float64
	text  string
}

// labelsOf returns the labels of the derived series of a source.
func (ix *index) labelsOf(s *source) labels.Labels {
	b := labels.NewBuilder(ix.naming.Labels)
	switch s.scope() {
	case engine.OfModel:
		b.Set("model", s.name).Set("version", s.version).Set("model_id", s.id)
		b.Set("role", string(ix.topology.Role(s.name)))
	case engine.OfEngine:
		b.Set("model_id", s.id)
	case engine.OfServer:
	}
	s.keepLabels(b)
	return b.Labels()
}

func withLabels(lset labels.Labels, pairs ...string) labels.Labels {
	b := labels.NewBuilder(lset)
	for pair := range slices.Chunk(pairs, 2) {
		b.Set(pair[0], pair[1])
	}
	return b.Labels()
}

func (g *group) add(i int, s *source) {
	if s.part != engine.PartValue && g.parts == &noParts {
		g.parts = &parts{}
	}
	switch s.part {
	case engine.PartValue:
		g.value.sources = append(g.value.sources, i)
	case engine.PartSum:
		g.sum.sources = append(g.sum.sources, i)
	case engine.PartCount:
		g.count.sources = append(g.count.sources, i)
	case engine.PartBucket:
		g.buckets = addPoint(g.buckets, s.labels.Get("le"), g.shift, i)
	case engine.PartQuantile:
		g.quantiles = addPoint(g.quantiles, s.labels.Get("quantile"), 0, i)
	}
}

// addPoint adds a source to the point with its bound, if that is a number.
func addPoint(points []point, text string, shift, i int) []point {
	v, err := strconv.ParseFloat(text, 64)
	if err != nil || v != v {
		return points
	}
	if shift != 0 && !math.IsInf(v, 0) {
		v /= math.Pow10(shift)
		text = string(exposition.AppendFloat(nil, v))
	}
	for n := range points {
		if points[n].bound == v {
			points[n].sources = append(points[n].sources, i)
			return points
		}
	}
	return append(points, point{bound: v, text: text, part: part{numbers: numbers{sources: []int{i}}}})
}

// finish sorts the points and notes where on the page the numbers are.
func (g *group) finish(sources []source) {
	g.value.locate(sources)
	if g.parts == &noParts {
		return
	}
	g.sum.locate(sources)
	g.count.locate(sources)
	for _, points := range [][]point{g.buckets, g.quantiles} {
		slices.SortFunc(points, func(a, b point) int { return cmp.Compare(a.bound, b.bound) })
		for i := range points {
			points[i].locate(sources)
		}
	}
}

// addsUp reports whether the group is a sum of several counters of the process.
func (g *group) addsUp(sources []source) bool {
	several := func(n *numbers) bool { return len(n.sources) > 1 && sources[n.sources[0]].addsUp() }
	return several(&g.value) || several(&g.count.numbers)
}

// copiedNumber is a number of the page that is copied as text.
type copiedNumber struct {
	place exposition.ValueIndex
	// notZero values are absent if 0, shares if they are more than 1.
	notZero, share bool
}

// locate notes where on the page the numbers are.
func (n *numbers) locate(sources []source) {
	if len(n.sources) > 0 {
		s := &sources[n.sources[0]]
		n.first = copiedNumber{s.place, s.zeroUnknown(), s.meaning.Signal.IsShare()}
	}
}

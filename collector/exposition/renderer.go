package exposition

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// cachedSeries is the result of rendering one series text: its labels and prefix, or
// the reason why it is dropped.
type cachedSeries struct {
	labels     labels.Labels
	prefix     string
	name       string
	drop       string
	collisions uint32
	// source holds the labels as the server wrote them; empty unless the series is watched.
	source labels.Labels
}

// seriesRenderer labels and renders the series of a body, each text once.
type seriesRenderer struct {
	opts *Options
	// label adds the identity labels and relabels; if nil, series are not changed.
	label    Labeler
	previous map[string]cachedSeries
	// current collects the series for the next body, unless it is nil.
	current map[string]cachedSeries
	split   seriesSplitter
	buf     []byte
}

// series labels, relabels and renders one series. It returns an error only if a limit is
// exceeded; any other fault drops only that series.
func (r *seriesRenderer) series(text []byte) (cachedSeries, error) {
	cached, ok := r.previous[string(text)]
	if !ok {
		lset, drop := r.split.labels(text)
		if cached.drop = drop; drop == "" {
			if err := r.opts.Limits.checkSeries(lset); err != nil {
				return cachedSeries{}, err
			}
			cached = r.render(lset)
			if name := lset.Get(model.MetricNameLabel); r.opts.Watch != nil && r.opts.Watch(name) &&
				!r.opts.reserved(name) {
				cached.source = lset
			}
		}
	}
	if r.current != nil {
		r.current[string(text)] = cached
	}
	return cached, nil
}

func (r *seriesRenderer) render(lset labels.Labels) cachedSeries {
	if r.opts.reserved(lset.Get(model.MetricNameLabel)) {
		return cachedSeries{drop: DropReservedName}
	}
	out := Labeled{
		Labels: lset,
		Keep:   true,
	}
	if r.label != nil {
		out = r.label(lset)
	}
	cached := cachedSeries{
		labels:     out.Labels,
		name:       out.Labels.Get(model.MetricNameLabel),
		collisions: uint32(out.Collisions),
	}
	switch {
	case !out.Keep:
		cached.drop = cmp.Or(out.Drop, DropRelabel)
	case !validName(cached.name):
		cached.drop = DropInvalidName
	case !validLabels(out.Labels):
		cached.drop = DropInvalidLabels
	case r.opts.reserved(cached.name):
		cached.drop = DropReservedName
	default:
		r.buf = appendPrefix(r.buf[:0], out.Labels)
		cached.prefix = string(r.buf)
	}
	return cached
}

// validName reports whether readers can parse a name. A NUL byte is valid UTF-8, but
// textparse ends the page there.
func validName(name string) bool {
	return name != "" && utf8.ValidString(name) && strings.IndexByte(name, 0) < 0
}

func validLabels(lset labels.Labels) bool {
	valid := true
	lset.Range(func(l labels.Label) {
		valid = valid && validName(l.Name) && utf8.ValidString(l.Value)
	})
	return valid
}

// reserved reports whether a name belongs to the exporter, as it is or escaped for readers.
func (o *Options) reserved(name string) bool {
	name = model.EscapeName(name, model.UnderscoreEscaping)
	return slices.ContainsFunc(o.Reserved, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// order returns the sort key of a series within its family. Servers list series in any order
// (prometheus-cpp keeps them in a hash map), so they are sorted to make replicas comparable. The
// series of one histogram or summary have the same key and keep the order of the source.
func (c *cachedSeries) order(typ model.MetricType) labels.Labels {
	if scalar(typ) {
		return c.labels
	}
	return labels.NewBuilder(c.labels).Del(model.MetricNameLabel, model.BucketLabel, model.QuantileLabel).Labels()
}

// lint returns the reason why a series cannot belong to its histogram or summary, or else the
// text that identifies it: its prefix with the bound in canonical form, because le="1" and
// le="1.0" are the same bucket to every reader.
func (c *cachedSeries) lint(f *Family) (identity, drop string) {
	suffix := strings.TrimPrefix(c.name, f.Name)
	label, bounded, drop := model.BucketLabel, suffix == "_bucket", DropInvalidHistogram
	switch f.Type {
	case model.MetricTypeHistogram:
	case model.MetricTypeSummary:
		label, bounded, drop = model.QuantileLabel, suffix == "", DropInvalidSummary
	default:
		return c.prefix, ""
	}
	bound := c.labels.Get(label)
	if bounded != (bound != "") || !bounded && suffix == "" {
		return "", drop
	}
	if !bounded {
		return c.prefix, ""
	}
	v, err := strconv.ParseFloat(bound, 64)
	if err != nil {
		return "", drop
	}
	return withBound(c.prefix, c.labels, label, v), ""
}

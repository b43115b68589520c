package engine

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// read reads what the watched series of a shape say.
func read(e Engine, shape *exposition.Shape, found Ranks) *said {
	p := &said{
		loaded: make(map[string]bool), names: make(map[string]bool), signals: make(map[Signal]bool),
		buckets: make(map[string]string), watched: make(map[Signal][]int),
	}
	index := IndexOf(e)
	all := make([]labels.Labels, shape.Watched())
	for i := range all {
		all[i] = shape.WatchedLabels(i)
	}
	like := e
	if p.inside = insideOf(e, all); p.inside != nil {
		like = p.inside
	}
	p.readModels(index, all, e.data().nobody)
	p.ranked = readRanks(index, all)
	p.settle(found)
	once := newRepeats(index, all)
	bounds := make(map[string]map[string]bool)
	for i, lset := range all {
		name := modelOf(lset)
		p.readSeries(like, once.less(holding(index[lset.Get(model.MetricNameLabel)], p.inside), i), i, name, e.data().nobody, lset)
		if p.gone(name) {
			continue
		}
		p.names[lset.Get(model.MetricNameLabel)] = true
		if family, ok := strings.CutSuffix(lset.Get(model.MetricNameLabel), "_bucket"); ok {
			if bounds[family] == nil {
				bounds[family] = make(map[string]bool)
			}
			bounds[family][bound(lset.Get("le"))] = true
		}
	}
	for family, set := range bounds {
		p.buckets[family] = strings.Join(sorted(set), " ")
	}
	// It is kept as long as the server's page has this shape.
	p.readings = append(make([]reading, 0, len(p.readings)), p.readings...)
	return p
}

// readModels finds the models that the page names, and which are loaded.
func (p *said) readModels(index Index, all []labels.Labels, nobody string) {
	named := make(map[string]bool)
	for _, lset := range all {
		name := modelOf(lset)
		if name == "" || name == nobody {
			continue
		}
		named[name] = true
		for _, m := range index[lset.Get(model.MetricNameLabel)] {
			if m.Signal == ModelSuccess || m.Signal == ModelFailed {
				p.loaded[name] = p.loaded[name] || m.Signal == ModelSuccess
			}
		}
	}
	p.modelNames = sorted(named)
}

// gone says of a model that the server still counts its failures, and has not
// loaded it.
func (p *said) gone(name string) bool {
	loaded, counted := p.loaded[name]
	return counted && !loaded
}

// counted are the signals of which the values say something.
func counted() []Signal {
	return []Signal{KVBlockTokens, RequestsLimit, RequestsFinished, RequestDuration, GenerationTokens, EngineAwake, EngineLastIter, GPUMemoryTotal, ModelRoutable}
}

// readSeries takes one series in, in each meaning that its name has. Of a model that
// nobody serves only the requests that failed count, which are the clients' mistakes of
// no model.
func (p *said) readSeries(e Engine, meanings []Indexed, at int, name, nobody string, lset labels.Labels) {
	for i := range meanings {
		m := &meanings[i]
		if !m.selects(lset) || !p.holds(&m.Meaning, lset) {
			continue
		}
		if name == "" || name != nobody || m.Signal == RequestsFailed {
			unloaded := e.Quirks(nil).SeriesOutliveModels && name != "" && !p.loaded[name]
			p.readings = append(p.readings, reading{m, int32(at), unloaded, name != "" && name == nobody})
		}
		if m.Signal == StatedVersion {
			p.readInfo(m.Signal, name, lset) // The software of the server is the same without the model.
		}
		if p.gone(name) {
			continue
		}
		p.readMeaning(e, m, at, name, lset)
	}
}

// readMeaning takes one series in, in one of its meanings, of a model that is there.
func (p *said) readMeaning(e Engine, m *Indexed, at int, name string, lset labels.Labels) {
	if m.Part != PartSum && m.Part != PartCount {
		// A distribution without its buckets or quantiles is none.
		p.signals[m.Signal] = true
	}
	if slices.Contains(counted(), m.Signal) && (m.Part == PartValue || m.Part == PartCount) {
		p.watched[m.Signal] = append(p.watched[m.Signal], at)
	}
	p.process.read(m, at, lset)
	if inner := e.data().inner; inner != "" && name != "" && strings.HasPrefix(m.Name, inner) && !slices.Contains(p.inner, name) {
		p.inner = append(p.inner, name)
	}
	if wrapper := e.data().wrapper; wrapper == "" || !strings.HasPrefix(m.Name, wrapper) || m.Signal != EngineIterations {
		p.readInfo(m.Signal, name, lset)
	}
}

// readInfo takes in what the labels of a series say; one that leaves something out
// takes nothing back of what another said.
func (p *said) readInfo(of Signal, name string, lset labels.Labels) {
	switch of { //nolint:exhaustive // Only these say something.
	case EngineIterations:
		if name != "" && !slices.Contains(p.executors, name) {
			p.executors = append(p.executors, name)
			slices.Sort(p.executors)
		}
	case StatedVersion:
		p.version = cmp.Or(plainVersion(lset.Get("tensorrt_llm_version")), p.version)
	case ModelConfig:
		p.gpuType = cmp.Or(plainText(lset.Get("gpu_type")), p.gpuType)
	case ParallelConfig:
		gpus, _ := strconv.Atoi(lset.Get("gpu_count"))
		p.gpus = cmp.Or(gpus, p.gpus)
	}
}

// modelOf is the server's name of the model a series speaks of.
func modelOf(lset labels.Labels) string {
	for _, name := range ModelLabels() {
		if v := lset.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// bound spells the bound of a bucket in one way: servers write 1, 1.0 and 1e0.
func bound(le string) string {
	v, err := strconv.ParseFloat(le, 64)
	if err != nil {
		return le
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// sorted are the keys of a set in order.
func sorted[V any](set map[string]V) []string { return slices.Sorted(maps.Keys(set)) }

// repeats are what a page says more than once: under the names of two releases,
// or from each rank of one engine.
type repeats struct {
	series []labels.Labels
	// names are the models that each name is shown of; empty for none.
	names map[string]map[string]bool
	// first are the places of the series that count among those that are the same
	// but for the labels of [Meaning.Copies].
	first map[string]int
}

// newRepeats finds what a page repeats.
func newRepeats(index Index, series []labels.Labels) *repeats {
	r := &repeats{series: series, names: make(map[string]map[string]bool), first: make(map[string]int)}
	for i := range series {
		name := series[i].Get(model.MetricNameLabel)
		if r.names[name] == nil {
			r.names[name] = make(map[string]bool)
		}
		r.names[name][modelOf(series[i])] = true
		for _, m := range index[name] {
			if len(m.Copies) == 0 {
				continue
			}
			// Servers write their series in any order, and it is to be the same one
			// on each page.
			key := r.without(i, m.Copies)
			if at, known := r.first[key]; !known || labels.Compare(series[i], series[at]) < 0 {
				r.first[key] = i
			}
		}
	}
	return r
}

// without names a series by all its labels but some.
func (r *repeats) without(i int, names []string) string {
	return labels.NewBuilder(r.series[i]).Del(names...).Labels().String()
}

// less are those of a series' meanings that no other series has already.
func (r *repeats) less(meanings []Indexed, i int) []Indexed {
	again := func(m Indexed) bool {
		return slices.ContainsFunc(m.Unless, func(name string) bool { return r.says(name, modelOf(r.series[i])) }) ||
			len(m.Copies) > 0 && r.first[r.without(i, m.Copies)] != i
	}
	if !slices.ContainsFunc(meanings, again) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), again)
}

// says says whether a name is shown of a model, or of none that is named; of a
// series that names none any will do.
func (r *repeats) says(name, of string) bool {
	name, all := strings.CutPrefix(name, ofAny)
	models := r.names[name]
	return models[of] || models[""] || (all || of == "") && len(models) > 0
}

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

// readContent reads the labels of the watched series of a shape. Which labels name models depends on the kind of the
// page, even for series of an engine inside.
func readContent(kind *Kind, shape *exposition.Shape, ranks Ranks) *content {
	c := &content{
		loaded:   make(map[string]bool),
		versions: make(map[[2]string]bool),
		names:    make(map[string]bool),
		signals:  make(map[Signal]bool),
		buckets:  make(map[string]string),
		valued:   make(map[Signal][]int),
		timed:    make(map[Signal][]int),
		counts:   make(map[[2]string][]int),
	}
	index, counting := kind.index(), kind
	all := make([]labels.Labels, shape.Watched())
	for i := range all {
		all[i] = shape.WatchedLabels(i)
	}
	if c.inside = kind.engineInside(all); c.inside != nil {
		counting = c.inside
	}
	if kind.repeats != nil {
		c.repeated = kind.repeats(func(family string) bool {
			return slices.ContainsFunc(shape.Families(), func(f exposition.Family) bool { return f.Name == family })
		})
	}
	c.readModels(kind, index, all)
	c.rankSet = readRanks(index, all)
	c.resolve(ranks)
	duplicates := newDuplicates(kind, index, all)
	bounds := make(map[string][]string)
	for i, lset := range all {
		name, modelName := lset.Get(model.MetricNameLabel), kind.modelOf(lset)
		if counting.stage != "" && lset.Has(counting.stage) {
			c.staged = true
		} else {
			nameless := modelName != "" && modelName == kind.noModel
			meanings := duplicates.remove(meaningsWith(index[name], c.inside), i)
			c.readSeries(counting, meanings, i, modelName, nameless, lset)
		}
		if c.gone(modelName, lset) {
			continue
		}
		c.names[name] = true
		if family, ok := strings.CutSuffix(name, "_bucket"); ok {
			bounds[family] = append(bounds[family], bound(lset.Get("le")))
		}
	}
	for family, values := range bounds {
		slices.Sort(values)
		c.buckets[family] = strings.Join(slices.Compact(values), " ")
	}
	// Drop spare capacity: the content lives as long as the shape.
	c.readings = append(make([]reading, 0, len(c.readings)), c.readings...)
	return c
}

// readModels finds the models that the page names, and which of them are loaded.
func (c *content) readModels(kind *Kind, index Index, all []labels.Labels) {
	byName := make(map[string]bool)
	for _, lset := range all {
		name := kind.modelOf(lset)
		if name == "" || name == kind.noModel {
			continue
		}
		byName[name] = true
		for _, m := range index[lset.Get(model.MetricNameLabel)] {
			if m.Signal == ModelSuccess || m.Signal == ModelFailed {
				c.loaded[name] = c.loaded[name] || m.Signal == ModelSuccess
			}
			if m.Signal == ModelSuccess {
				c.versions[[2]string{name, lset.Get(versionLabel)}] = true
			}
		}
	}
	c.modelNames = sorted(byName)
}

// unloadedModel reports whether a model is counted, and only its failures are.
func (c *content) unloadedModel(name string) bool {
	loaded, counted := c.loaded[name]
	return counted && !loaded
}

// gone reports whether only the failures of a series' model or version count, since its other series are
// stale.
func (c *content) gone(name string, lset labels.Labels) bool {
	return c.unloadedModel(name) || c.loaded[name] && !c.servesVersion(name, lset)
}

// servesVersion reports whether the version of a loaded model is loaded that a series names, if it names one:
// another may have taken its place.
func (c *content) servesVersion(name string, lset labels.Labels) bool {
	version := lset.Get(versionLabel)
	return version == "" || c.versions[[2]string{name, version}] || c.versions[[2]string{name, ""}]
}

// versionLabel names the version of a model that a series belongs to.
const versionLabel = "version"

// readSeries adds a series with each meaning. Requests for unknown models, which are nameless, are only failures.
func (c *content) readSeries(
	e *Kind, meanings []Indexed, series int, name string, nameless bool, lset labels.Labels,
) {
	for i := range meanings {
		m := &meanings[i]
		if !m.selects(lset) || !c.allows(&m.Meaning, lset) || slices.Contains(c.repeated, m.Signal) {
			continue
		}
		if !nameless || m.Signal == RequestsFailed {
			unloaded := e.Quirks(nil).SeriesOutliveModels && name != "" &&
				(!c.loaded[name] || !c.servesVersion(name, lset))
			c.readings = append(c.readings, reading{m, int32(series), unloaded, nameless})
		}
		if m.Signal == StatedVersion {
			c.readInfo(m.Signal, name, lset) // The software stays the same without the model.
		}
		if !c.gone(name, lset) {
			c.readMeaning(e, m, series, name, lset)
		}
	}
}

// readMeaning adds a series of a loaded model with one of its meanings.
func (c *content) readMeaning(e *Kind, m *Indexed, series int, name string, lset labels.Labels) {
	if (m.Signal == ModelSuccess || m.Signal == ModelFailed) && max(len(c.loaded), len(c.versions)) > maxConfigs {
		key := [2]string{name, lset.Get(versionLabel)}
		c.counts[key] = append(c.counts[key], series)
	}
	if m.Part != PartSum && m.Part != PartCount {
		// A distribution needs its buckets or quantiles.
		c.signals[m.Signal] = true
	}
	if e.pausing != nil {
		e.pausing(&c.pausing, &m.Meaning, series, lset)
	}
	c.readTimes(m, series)
	switch m.Signal { //nolint:exhaustive // Values of the others are for rules alone.
	case KVBlockTokens, KVBlocksLimit, WorkerKVBlocks, KVTokensLimit, KVHitRatio, RequestsLimit,
		RequestsFinished, GenerationTokens, EngineAwake, EngineLastIter, GPUMemoryTotal, ModelRoutable:
		if m.Part == PartValue || m.Part == PartCount {
			c.valued[m.Signal] = append(c.valued[m.Signal], series)
		}
	case ProcessStarted:
		c.starts = append(c.starts, series)
	case ProcessUptime:
		c.processIDs = append(c.processIDs, lset.Get(m.Dims[0].Theirs))
	}
	onlyNative := strings.HasPrefix(m.Name, executorPrefix) && (m.Signal == KVBlocksReused || m.Signal == Disaggregated)
	if onlyNative && !slices.Contains(c.native, name) {
		c.native = append(c.native, name)
	}
	if inner := e.inner; inner != "" && name != "" && strings.HasPrefix(m.Name, inner) &&
		!slices.Contains(c.inner, name) {
		c.inner = append(c.inner, name)
	}
	if wrapper := e.wrapper; wrapper == "" || !strings.HasPrefix(m.Name, wrapper) || m.Signal != EngineIterations {
		c.readInfo(m.Signal, name, lset)
	}
}

// readTimes notes whether times are counted, and whether they are measured.
func (c *content) readTimes(m *Indexed, series int) {
	switch {
	case !m.Signal.TakesTime():
	case m.Part == PartCount:
		c.valued[m.Signal] = append(c.valued[m.Signal], series)
	case m.Part == PartSum:
		c.timed[m.Signal] = append(c.timed[m.Signal], series)
	}
}

// readInfo reads labels. Empty labels do not override other series.
func (c *content) readInfo(s Signal, name string, lset labels.Labels) {
	switch s { //nolint:exhaustive // Labels of the others are for rules alone.
	case EngineIterations:
		if name != "" && !slices.Contains(c.executors, name) {
			c.executors = append(c.executors, name)
			slices.Sort(c.executors)
		}
	case StatedVersion:
		c.version = cmp.Or(plainVersion(lset.Get("tensorrt_llm_version")), c.version)
	case ModelConfig:
		c.gpuType = cmp.Or(plainText(lset.Get("gpu_type")), c.gpuType)
	case ParallelConfig:
		gpus, _ := strconv.Atoi(lset.Get("gpu_count"))
		c.gpus = cmp.Or(gpus, c.gpus)
	}
}

// ModelLabels returns the labels that name a model, of which the first counts. In model,
// trtllm-serve has the path from which it was loaded (collector.py, trtllm_model_config_info).
func (k *Kind) ModelLabels() []string {
	if k.modelLabels != nil {
		return k.modelLabels
	}
	return usualModelLabels()
}

func usualModelLabels() []string { return []string{"model_name", "model"} }

// modelOf returns the server's name of the model that a series belongs to.
func (k *Kind) modelOf(lset labels.Labels) string {
	for _, name := range k.ModelLabels() {
		if v := lset.Get(name); v != "" {
			return v
		}
	}
	return ""
}

// bound returns the canonical form of a bucket's bound; servers write 1, 1.0 and 1e0.
func bound(le string) string {
	v, err := strconv.ParseFloat(le, 64)
	if err != nil {
		return le
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// sorted returns the keys of a map in order.
func sorted[V any](set map[string]V) []string { return slices.Sorted(maps.Keys(set)) }

// duplicates finds series that repeat another one, with an older name or another rank.
type duplicates struct {
	series []labels.Labels
	kind   *Kind
	// models holds the models of the series of each name, "" for none. Series that have no meaning
	// for their labels replace none.
	models map[string]map[string]bool
	// original holds the series that counts among those that differ only in [Meaning.Copies].
	original map[string]int
}

func newDuplicates(kind *Kind, index Index, series []labels.Labels) *duplicates {
	d := &duplicates{
		series:   series,
		kind:     kind,
		models:   make(map[string]map[string]bool),
		original: make(map[string]int),
	}
	for i := range series {
		name := series[i].Get(model.MetricNameLabel)
		if d.models[name] == nil {
			d.models[name] = make(map[string]bool)
		}
		if index.reads(name, series[i]) {
			d.models[name][kind.modelOf(series[i])] = true
		}
		for _, m := range index[name] {
			if len(m.Copies) == 0 {
				continue
			}
			// Comparing labels picks the same series on each page, in whatever order they are.
			key := d.without(i, m.Copies)
			if original, ok := d.original[key]; !ok || labels.Compare(series[i], series[original]) < 0 {
				d.original[key] = i
			}
		}
	}
	return d
}

// reads reports whether a series has a meaning, or its name has none, so that it only marks a release.
func (index Index) reads(name string, lset labels.Labels) bool {
	meanings := index[name]
	return len(meanings) == 0 || slices.ContainsFunc(meanings, func(m Indexed) bool { return m.selects(lset) })
}

// without returns the labels of a series except some, as a key.
func (d *duplicates) without(i int, names []string) string {
	return labels.NewBuilder(d.series[i]).Del(names...).Labels().String()
}

// remove removes the meanings of a series that another series already has.
func (d *duplicates) remove(meanings []Indexed, i int) []Indexed {
	repeated := func(m Indexed) bool {
		return slices.ContainsFunc(m.Unless, func(e Exception) bool { return d.shown(&e, d.kind.modelOf(d.series[i])) }) ||
			len(m.Copies) > 0 && d.original[d.without(i, m.Copies)] != i
	}
	if !slices.ContainsFunc(meanings, repeated) {
		return meanings
	}
	return slices.DeleteFunc(slices.Clone(meanings), repeated)
}

// shown reports whether an exception applies to the series of a model. Series without a model match any.
func (d *duplicates) shown(e *Exception, modelName string) bool {
	models := d.models[e.Name]
	there := models[modelName] || models[""] || (e.AnyModel || modelName == "") && len(models) > 0
	return there != e.Lacking
}

package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Generation names a set of series that a kind of server shows, as one of its releases or one of
// its settings does.
type Generation string

// Page describes one shape of a server's page: what its series mean, which models they belong to,
// and what they reveal about the server. Only [Page.Refresh] changes it. It is not safe for
// concurrent use.
type Page struct {
	*content

	engine Engine
	shape  *exposition.Shape
	// comparison is the evidence so far on whether ranks share their requests.
	comparison rankComparison
	// values holds the latest values of the signals in content.valued.
	values map[Signal]float64
}

// content holds what the labels of a page's watched series reveal. It does not depend on values, is
// immutable, and is shared by all pages of one shape.
type content struct {
	readings []reading
	rankSet
	// modelNames lists the models that series name, executors those with an iteration count
	// of their own, inner those with an engine of their own inside the server.
	modelNames, executors, inner []string
	// inside is the engine whose page the server passes on, or nil.
	inside Engine
	// loaded has an entry for each model whose requests are counted: false for one that was
	// unloaded and of which only failures remain on the page.
	loaded map[string]bool
	// names and signals exclude series of unloaded models.
	names   map[string]bool
	signals map[Signal]bool
	// version is the version of TensorRT-LLM that the page states.
	version string
	// gpuType and gpus are the model and the number of GPUs that the page states.
	gpuType string
	gpus    int
	// buckets holds the bounds of histograms by family, sorted.
	buckets map[string]string
	// valued holds the series whose values matter here, by signal.
	valued map[Signal][]int
	// starts and processIDs identify the process behind the page: the series with its start time,
	// and the names that it has in labels.
	starts     []int
	processIDs []string
}

// reading is one watched series in one of its meanings.
type reading struct {
	meaning *Indexed
	// series is its index among the watched series.
	series int32
	// unloaded is true if its model is not loaded, noModel if the model is base.noModel.
	unloaded, noModel bool
}

// Source is one watched series of a page in one of its meanings.
type Source struct {
	// Place locates the value in blocks of the page's shape.
	Place exposition.ValueIndex
	// Labels are the server's own.
	Labels  labels.Labels
	Meaning *Meaning
	Part    Part
	// Model and Version are the server's own labels; empty if the series names no model.
	Model, Version string
	// Unloaded is true if the model is not loaded: the series stays on the page, frozen.
	Unloaded bool
}

// Watch returns a filter for the sample names of a kind's page that are read. Pass it to the cache
// that parses the page.
func Watch(e Engine) func(name string) bool {
	index, prefixes := IndexOf(e), e.data().prefixes
	if e.Kind() == Unknown {
		for _, kind := range registry {
			prefixes = append(prefixes, kind.data().prefixes...)
		}
	}
	return func(name string) bool {
		if _, ok := index[name]; ok {
			return true
		}
		return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(name, p) }) &&
			!strings.HasSuffix(name, "_sum") && !strings.HasSuffix(name, "_count")
	}
}

// ReadPage reads a page, given a block of its shape.
func ReadPage(e Engine, b *exposition.Block) *Page { return ReadNext(e, b, nil) }

// ReadNext reads a page of another shape than the one before, which may be nil. It keeps what
// values have revealed about ranks.
func ReadNext(e Engine, b *exposition.Block, before *Page) *Page {
	p := &Page{engine: e, shape: b.Shape(), comparison: newRankComparison(), values: make(map[Signal]float64)}
	if before != nil {
		p.comparison = before.comparison
	}
	p.readContent()
	p.Refresh(b)
	return p
}

// readContent reads the labels again; what series mean may depend on p.comparison.
func (p *Page) readContent() {
	ranks := p.comparison.result
	read := func() *content { return readContent(p.engine, p.shape, ranks) }
	page, shares := p.shape.WatchedKey()
	if !shares {
		p.content = read()
		return
	}
	p.content = contents.Intern(contentKey{p.engine.Kind(), page, ranks}, nil, read)
}

// contentKey identifies pages with equal content.
type contentKey struct {
	kind  Kind
	page  exposition.WatchedKey
	ranks Ranks
}

// contents shares content between the replicas of one kind while any of them uses it.
//
//nolint:gochecknoglobals // a cache without state of any replica.
var contents exposition.Interner[contentKey, content]

// Ranks returns whose requests the batches of the ranks are.
func (p *Page) Ranks() Ranks { return p.ranks }

// Shape returns the shape that was read.
func (p *Page) Shape() *exposition.Shape { return p.shape }

// labels returns the labels of a reading's series.
func (p *Page) labels(r reading) labels.Labels { return p.shape.WatchedLabels(int(r.series)) }

// Sources returns all watched series in all their meanings, in page order.
func (p *Page) Sources() []Source {
	sources := make([]Source, len(p.readings))
	for i, r := range p.readings {
		lset := p.labels(r)
		sources[i] = Source{
			Place: p.shape.WatchedIndex(int(r.series)), Labels: lset, Meaning: &r.meaning.Meaning, Part: r.meaning.Part,
			Model: modelOf(lset), Version: lset.Get("version"), Unloaded: r.unloaded,
		}
		if r.noModel {
			sources[i].Model = ""
		}
	}
	return sources
}

// Counters returns the indexes of the watched series that are counters, in order.
func (p *Page) Counters() []int {
	var all []int
	for _, r := range p.readings {
		if r.meaning.Counter && (len(all) == 0 || all[len(all)-1] != int(r.series)) {
			all = append(all, int(r.series))
		}
	}
	return all
}

// get returns the content of the page; a nil page is empty.
func (p *Page) get() *content {
	if p == nil {
		return &content{}
	}
	return p.content
}

// NamedModels returns the models that the page names.
func (p *Page) NamedModels() NamedModels {
	c := p.get()
	named := NamedModels{Names: c.modelNames, Executors: c.executors, Inner: c.inner}
	if c.inside != nil {
		named.Inside = c.inside.Kind()
	}
	return named
}

// Inside returns the engine whose page the server passes on; nil if the page is its own.
func (p *Page) Inside() Engine { return p.get().inside }

// Has reports whether the page has a signal.
func (p *Page) Has(s Signal) bool { return p.get().signals[s] }

// HasName reports whether the page has a sample of that name.
func (p *Page) HasName(name string) bool { return p.get().names[name] }

// HasPrefix reports whether the page has a name with that prefix.
func (p *Page) HasPrefix(prefix string) bool {
	return p.hasNameLike(func(name string) bool { return strings.HasPrefix(name, prefix) })
}

func (p *Page) hasNameLike(like func(name string) bool) bool {
	for name := range p.get().names {
		if like(name) {
			return true
		}
	}
	return false
}

// hasReading reports whether any reading of the page satisfies f.
func (p *Page) hasReading(f func(r reading) bool) bool {
	return slices.ContainsFunc(p.get().readings, f)
}

// readsFrom reports whether a signal is read from names with that prefix.
func (p *Page) readsFrom(prefix string, s Signal) bool {
	return p.hasReading(func(r reading) bool { return r.meaning.Signal == s && strings.HasPrefix(r.meaning.Name, prefix) })
}

// Loaded reports whether the page shows a model as loaded; known is false if it counts requests of
// no model.
func (p *Page) Loaded(name string) (loaded, known bool) {
	models := p.get().loaded
	return models[name], len(models) > 0
}

// noneLoaded reports whether the page shows models, none of which is loaded.
func (p *Page) noneLoaded() bool {
	return len(p.loaded) > 0 && !slices.Contains(slices.Collect(maps.Values(p.loaded)), true)
}

// Models returns the models whose requests are counted, sorted.
func (p *Page) Models() []string { return sorted(p.get().loaded) }

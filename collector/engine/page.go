package engine

import (
	"maps"
	"slices"
	"strings"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Generation names what a page is within its kind of server.
type Generation string

// Page is what one shape of a server's page says: which series mean what, of
// which models they are, and what they say of the server itself. Only
// [Page.Refresh] changes it. It is not safe for concurrent use.
type Page struct {
	*said

	engine Engine
	shape  *exposition.Shape
	// ranks are what pages showed of the ranks of the engine so far.
	together together
	// values are what the series of which the value counts said last.
	values map[Signal]float64
}

// said is what follows from the watched series of a page, whatever their values and
// the GPUs that they are of. It never changes once it was read.
type said struct {
	readings []reading
	ranked
	// modelNames are all models that are named, sorted.
	modelNames []string
	// executors are the models that count iterations of their own, sorted.
	executors []string
	// inner are the models with an engine of its own inside the server.
	inner []string
	// inside is the engine whose page the server passes on; nil for none.
	inside Engine
	// loaded are the models that the server counts requests of, true for those
	// that are loaded, whatever else of them is on the page.
	loaded map[string]bool
	// names and signals are those of series that count: not of models that are
	// gone.
	names   map[string]bool
	signals map[Signal]bool
	// version is that of TensorRT-LLM, if the page states it.
	version string
	// gpuType is what the server says of its GPUs, gpus how many there are.
	gpuType string
	gpus    int
	// buckets are the bounds of histograms by family, sorted.
	buckets map[string]string
	// watched are the places of series of which the value counts.
	watched map[Signal][]int
	process processSigns
}

// reading is one watched series in one of its meanings.
type reading struct {
	meaning  *Indexed
	at       int32
	unloaded bool
	// nobody says that its model is one that the server made up.
	nobody bool
}

// Source is one watched series of a page in one of its meanings.
type Source struct {
	// Place is where its value is in the blocks of the page's shape.
	Place exposition.ValueIndex
	// Labels are the server's own.
	Labels  labels.Labels
	Meaning *Meaning
	Part    Part
	// Model is the server's name of the model it is of, with its version; empty
	// where it names none.
	Model, Version string
	// Unloaded says that the model is not loaded: the series stays on the page
	// and says nothing new.
	Unloaded bool
}

// Watch says which samples of a kind's pages are read, by rules or for what they
// say of the server; give it to the cache that parses the pages.
func Watch(e Engine) func(name string) bool {
	index, prefixes := IndexOf(e), e.data().prefixes
	if e.Kind() == Unknown {
		for _, known := range registry {
			prefixes = append(prefixes, known.data().prefixes...)
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

// ReadPage reads what a page says, given a block of its shape. Series of models
// that are not loaded say nothing of the server: after an unload they stay there,
// frozen.
func ReadPage(e Engine, b *exposition.Block) *Page {
	return readAfter(e, b, together{was: -1, found: RanksUnsure})
}

// ReadNext reads what a page of another shape says, given what was read of the one
// before, nil for none.
func ReadNext(e Engine, b *exposition.Block, before *Page) *Page {
	if before == nil {
		return ReadPage(e, b)
	}
	return readAfter(e, b, before.together)
}

func readAfter(e Engine, b *exposition.Block, seen together) *Page {
	p := &Page{engine: e, shape: b.Shape(), together: seen, values: make(map[Signal]float64)}
	p.reread()
	p.Refresh(b)
	return p
}

// reread reads the labels of the page in the light of what is known of its ranks.
func (p *Page) reread() {
	found := p.together.found
	p.said = once(likeness{kind: p.engine.Kind(), found: found}, p.shape, func() *said { return read(p.engine, p.shape, found) })
}

// Ranks says whose requests the batches are that the ranks of the engine show.
func (p *Page) Ranks() Ranks { return p.ranks }

// labels are those of a reading's series.
func (p *Page) labels(r reading) labels.Labels { return p.shape.WatchedLabels(int(r.at)) }

// Shape is the shape that was read.
func (p *Page) Shape() *exposition.Shape { return p.shape }

// Sources are all watched series in all their meanings, in the order of the
// page as it is shown. They are made for each call.
func (p *Page) Sources() []Source {
	sources := make([]Source, len(p.readings))
	for i, r := range p.readings {
		lset := p.labels(r)
		sources[i] = Source{
			Place: p.shape.WatchedIndex(int(r.at)), Labels: lset, Meaning: &r.meaning.Meaning, Part: r.meaning.Part,
			Model: modelOf(lset), Version: lset.Get("version"), Unloaded: r.unloaded,
		}
		if r.nobody {
			sources[i].Model = ""
		}
	}
	return sources
}

// Counters are the numbers of the watched series that are counters, in order.
func (p *Page) Counters() []int {
	var all []int
	for _, r := range p.readings {
		if r.meaning.Counter && (len(all) == 0 || all[len(all)-1] != int(r.at)) {
			all = append(all, int(r.at))
		}
	}
	return all
}

// Seen are the models that the page names.
func (p *Page) Seen() Seen {
	if p == nil {
		return Seen{}
	}
	seen := Seen{Names: p.modelNames, Executors: p.executors, Inner: p.inner}
	if p.inside != nil {
		seen.Inside = p.inside.Kind()
	}
	return seen
}

// Inside is the engine whose page a server passes on; nil where the page is its own.
func (p *Page) Inside() Engine {
	if p == nil {
		return nil
	}
	return p.inside
}

// Has says whether the page has a signal.
func (p *Page) Has(s Signal) bool { return p != nil && p.signals[s] }

// Shows says whether the page has a sample of that name.
func (p *Page) Shows(name string) bool { return p != nil && p.names[name] }

// readsFrom says whether a signal is read from names that begin so.
func (p *Page) readsFrom(prefix string, s Signal) bool {
	return slices.ContainsFunc(p.readings, func(r reading) bool {
		return r.meaning.Signal == s && strings.HasPrefix(r.meaning.Name, prefix)
	})
}

// Begins says whether the page has a name that begins so.
func (p *Page) Begins(prefix string) bool {
	if p == nil {
		return false
	}
	for name := range p.names {
		if strings.HasPrefix(name, prefix) {
			return true
		}
	}
	return false
}

// Loaded says whether the page shows a model as loaded; known is false when it
// says so of no model.
func (p *Page) Loaded(name string) (loaded, known bool) {
	if p == nil || len(p.loaded) == 0 {
		return false, false
	}
	return p.loaded[name], true
}

// noneLoaded says that the page shows models, none of which is loaded.
func (p *Page) noneLoaded() bool {
	return len(p.loaded) > 0 && !slices.Contains(slices.Collect(maps.Values(p.loaded)), true)
}

// Models are the models that the server counts requests of, in order.
func (p *Page) Models() []string {
	if p == nil {
		return nil
	}
	return sorted(p.loaded)
}

// likeness is of pages that say the same.
type likeness struct {
	kind  Kind
	page  exposition.WatchedKey
	found Ranks
}

// keptSaid keeps what pages say once, for as long as any has it: those of replicas
// of one kind say the same.
//
//nolint:gochecknoglobals // memory only; it says nothing of any replica.
var keptSaid exposition.Interner[likeness, said]

// once gives what pages of a kind and shape say in one light, which is read if no page has it.
func once(key likeness, shape *exposition.Shape, read func() *said) *said {
	page, shares := shape.WatchedKey()
	if !shares {
		return read()
	}
	key.page = page
	return keptSaid.Intern(key, nil, read)
}

package engine

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// Generation is the name of a set of series, which depends on release or settings.
type Generation string

// Page describes what one shape of a server's page reveals. Only [Page.Refresh] changes it. It is
// not safe for concurrent use.
type Page struct {
	*content

	engine *Kind
	shape  *exposition.Shape
	// comparison is the evidence so far about whether ranks share their requests.
	comparison rankComparison
	// values holds the latest values of the signals in content.valued, sums those in content.timed, requests the
	// latest counts of content.counts.
	values   map[Signal]float64
	sums     map[Signal]float64
	requests map[[2]string]float64
	// unrouted holds the models that requests cannot be routed for, sorted.
	unrouted []string
	// uses counts how often other models came into use.
	uses int
	// pause is the evidence so far about whether the server is paused.
	pause pauseWatch
	// front returns the prefix of a frontend of Dynamo, see dynamoFront.
	front func() string
}

// content holds what labels reveal. It is immutable and shared by all pages of one shape.
type content struct {
	readings []reading
	rankSet
	// executors are the models that count iterations, native those that only the C++ backend of
	// TensorRT-LLM shows, inner the models with an engine inside.
	modelNames, executors, native, inner []string
	// inside is the engine whose page the server passes on, or nil.
	inside *Kind
	// loaded holds the counted models, with false if only failures remain.
	loaded map[string]bool
	// versions holds the versions of loaded models, as name and version.
	versions map[[2]string]bool
	// names and signals exclude series of unloaded models and versions.
	names   map[string]bool
	signals map[Signal]bool
	// version is the version of TensorRT-LLM on the page.
	version string
	// gpuType and gpus are the model and the number of GPUs on the page.
	gpuType string
	gpus    int
	// buckets holds the bounds of histograms by family, sorted.
	buckets map[string]string
	// valued holds the series whose values are read here, by signal, timed the sums of times.
	valued map[Signal][]int
	timed  map[Signal][]int
	// counts holds the series that count requests of the loaded models by name and version, if there are many.
	counts map[[2]string][]int
	// staged is true if series measure stages of requests.
	staged bool
	// repeated lists the signals whose series count more often than they happen.
	repeated []Signal
	// pausing holds the series that show whether the server is paused.
	pausing pauseSeries
	// starts holds the series with the start time of the process, processIDs its names in labels.
	starts     []int
	processIDs []string
}

// reading is one watched series in one of its meanings.
type reading struct {
	meaning *Indexed
	// series is the index of the watched series.
	series int32
	// unloaded is true if the model, or its version, is not loaded, noModel if it is base.noModel.
	unloaded, noModel bool
}

// Source is one watched series of a page in one of its meanings.
type Source struct {
	// Place locates the value in blocks of the page's shape.
	Place exposition.ValueIndex
	// Labels are the server's own labels.
	Labels  labels.Labels
	Meaning *Meaning
	Part    Part
	// Counter is true if the value only grows while the server runs.
	Counter bool
	// OfProcess is true if it grows until the process ends, see [Page.Counters].
	OfProcess bool
	// Model and Version are from the labels, empty if the series names no model.
	Model, Version string
	// Unloaded is true if the model, or its version, is not loaded: the series stays on the page, unchanged.
	Unloaded bool
}

// Watch returns a filter for the sample names that are read, for [exposition.Options].
func Watch(e *Kind) func(name string) bool {
	index, prefixes := e.index(), e.prefixes
	if e.Name == Unknown {
		for _, kind := range All() {
			prefixes = append(prefixes, kind.prefixes...)
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

// ReadPage reads a page; b is a block of its shape.
func ReadPage(e *Kind, b *exposition.Block) *Page { return ReadNext(e, b, nil) }

// ReadNext reads a page of a new shape. It keeps what the previous page revealed about ranks and pauses.
func ReadNext(e *Kind, b *exposition.Block, previous *Page) *Page {
	p := &Page{
		engine: e, shape: b.Shape(), comparison: newRankComparison(),
		values: make(map[Signal]float64), sums: make(map[Signal]float64), requests: make(map[[2]string]float64),
	}
	if previous != nil {
		p.comparison, p.pause = previous.comparison, previous.pause
	}
	p.readContent()
	p.front = sync.OnceValue(func() string { return findDynamoFront(p) })
	p.Refresh(b)
	return p
}

// readContent reads the labels again, since the meaning of series may depend on p.comparison.
func (p *Page) readContent() {
	ranks := p.comparison.result
	read := func() *content { return readContent(p.engine, p.shape, ranks) }
	page, shares := p.shape.WatchedKey()
	if !shares {
		p.content = read()
		return
	}
	p.content = contents.Intern(contentKey{p.engine, page, ranks}, nil, read)
}

// contentKey identifies pages with equal content.
type contentKey struct {
	kind  *Kind
	page  exposition.WatchedKey
	ranks Ranks
}

// contents shares content between the replicas of one kind while any of them uses it.
//
//nolint:gochecknoglobals // a cache without state of any replica.
var contents exposition.Interner[contentKey, content]

// Ranks returns whether the batches of the ranks are the same requests.
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
			Place:     p.shape.WatchedIndex(int(r.series)),
			Labels:    lset,
			Meaning:   &r.meaning.Meaning,
			Part:      r.meaning.Part,
			Counter:   r.meaning.Counter,
			OfProcess: r.meaning.ofProcess(),
			Model:     p.engine.modelOf(lset),
			Version:   lset.Get(versionLabel),
			Unloaded:  r.unloaded,
		}
		if r.noModel {
			sources[i].Model = ""
		}
	}
	return sources
}

// Counters returns the indexes of the watched series that are counters of the process, in order.
// Buckets are left out, since they fall only with the count of their histogram, gauges that
// count but belong to an instance of a model, as the instances set them in turn, and what the sensor of a GPU counts.
func (p *Page) Counters() []int {
	var all []int
	for _, r := range p.readings {
		if r.meaning.ofProcess() && r.meaning.Part != PartBucket && (len(all) == 0 || all[len(all)-1] != int(r.series)) {
			all = append(all, int(r.series))
		}
	}
	return all
}

// ofProcess reports whether a series counts until the process ends.
func (m *Indexed) ofProcess() bool {
	return m.Counter && m.Signal != GPUEnergy && !strings.HasPrefix(m.Name, instanceRows)
}

// ModelOf returns the server's name of the model that a watched series belongs to, empty if to none.
func (p *Page) ModelOf(series int) string { return p.engine.modelOf(p.shape.WatchedLabels(series)) }

// instanceRows begins the names of gauges that each instance of a model in Triton sets for itself.
const instanceRows = "nv_trt_llm_"

// get returns the content of the page. A nil page is empty.
func (p *Page) get() *content {
	if p == nil {
		return &content{}
	}
	return p.content
}

// NamedModels returns the models that the page names.
func (p *Page) NamedModels() NamedModels {
	c := p.get()
	models := NamedModels{Names: c.modelNames, Executors: c.executors, Native: c.native, Inner: c.inner}
	if c.inside != nil {
		models.Inside = c.inside.Name
	}
	return models
}

// Inside returns the engine whose page the server passes on, nil if the page is its own.
func (p *Page) Inside() *Kind { return p.get().inside }

// Has reports whether the page has a signal.
func (p *Page) Has(s Signal) bool { return p.get().signals[s] }

// HasName reports whether the page has a sample of that name.
func (p *Page) HasName(name string) bool { return p.get().names[name] }

// HasPrefix reports whether the page has a name with that prefix.
func (p *Page) HasPrefix(prefix string) bool {
	return p.hasNameLike(func(name string) bool { return strings.HasPrefix(name, prefix) })
}

// hasFamily reports whether the page has a family, which need not be watched.
func (p *Page) hasFamily(name string) bool {
	return slices.ContainsFunc(p.families(), func(f exposition.Family) bool { return f.Name == name })
}

// families returns the families of the page, also those that are not watched.
func (p *Page) families() []exposition.Family {
	if p == nil {
		return nil
	}
	return p.shape.Families()
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

// ReadsAny reports whether the page has a series that its kind of server reads; every program has a start time.
func (p *Page) ReadsAny() bool {
	return p.hasReading(func(r reading) bool { return r.meaning.Signal != ProcessStarted })
}

// readsFrom reports whether a signal is read from names with that prefix.
func (p *Page) readsFrom(prefix string, s Signal) bool {
	return p.hasReading(
		func(r reading) bool { return r.meaning.Signal == s && strings.HasPrefix(r.meaning.Name, prefix) },
	)
}

// tokensLive reports whether the page counts generated tokens as they come.
func (p *Page) tokensLive() bool {
	return p.hasReading(func(r reading) bool { return r.meaning.Signal == GenerationTokens && !r.meaning.WhenEnded })
}

// Loaded reports whether a model is loaded; known is false if no model is counted. A server around the
// engine lists models by other names, of which the engine's page says nothing.
func (p *Page) Loaded(name string) (loaded, known bool) {
	models := p.get().loaded
	loaded, known = models[name]
	return loaded, known || len(models) > 0 && p.Inside() == nil
}

// loadedModels returns the loaded models, sorted.
func (p *Page) loadedModels() []string {
	models := p.get().loaded
	return slices.DeleteFunc(sorted(models), func(name string) bool { return !models[name] })
}

// Unlisted returns how many loaded models are not in the facts.
func (p *Page) Unlisted(f *Facts) int {
	return len(withUnlisted(f.get().Models, p.loadedModels())) - len(f.get().Models)
}

// hasLoaded reports whether any model is loaded.
func (p *Page) hasLoaded() bool {
	for _, loaded := range p.get().loaded {
		if loaded {
			return true
		}
	}
	return false
}

// servesModel reports whether the page shows a loaded model or, where none is counted, names one.
func (p *Page) servesModel() bool {
	if len(p.get().loaded) > 0 {
		return p.hasLoaded()
	}
	return len(p.get().modelNames) > 0
}

// Models returns the models whose requests are counted, sorted.
func (p *Page) Models() []string { return sorted(p.get().loaded) }

// Refresh reads another page of the same shape, and reports whether it revealed anything new.
func (p *Page) Refresh(b *exposition.Block) bool {
	changed := p.compareRanks(b)
	changed = p.pause.watch(&p.pausing, b) || changed
	changed = p.readRoutes(b) || changed
	if p.countRequests(b) {
		changed = true
		p.uses++
	}
	changed = readValues(b, p.valued, p.values) || changed
	return readValues(b, p.timed, p.sums) || changed
}

// readValues reads the values of series by signal, and reports whether any of them changed.
func readValues(b *exposition.Block, series map[Signal][]int, values map[Signal]float64) (changed bool) {
	for signal, all := range series {
		value := valueOf(b, signal, all)
		if previous, ok := values[signal]; !ok || previous != value {
			changed, values[signal] = true, value
		}
	}
	return changed
}

// valueOf returns the largest value of series of a signal, one at least, as far as anybody asks for it.
func valueOf(b *exposition.Block, signal Signal, series []int) float64 {
	value, none := 0.0, true
	for _, i := range series {
		v, ok := b.WatchedValue(i)
		if ok && !math.IsNaN(v) {
			value = max(value, v)
		}
		none = none && ok && v < 0
	}
	switch {
	case signal == EngineLastIter:
		return unitOf(value)
	case signal == KVHitRatio && none:
		return -1 // By which servers say that there is none.
	case signal == KVHitRatio:
		return 0
	case signal == GenerationTokens, signal == RequestsFinished, signal.TakesTime():
		return math.Ceil(min(value, 1)) // Only whether there ever was one.
	}
	return value
}

// readRoutes finds the models that requests cannot be routed for, and reports whether they changed.
func (p *Page) readRoutes(b *exposition.Block) (changed bool) {
	series := p.valued[ModelRoutable]
	if len(series) == 0 {
		return false
	}
	routable := make(map[string]bool, len(series))
	for _, i := range series {
		name := p.engine.modelOf(p.shape.WatchedLabels(i))
		if v, ok := b.WatchedValue(i); ok && !math.IsNaN(v) {
			routable[name] = routable[name] || v > 0
		}
	}
	maps.DeleteFunc(routable, func(_ string, is bool) bool { return is })
	before := p.unrouted
	p.unrouted = sorted(routable)
	return !slices.Equal(before, p.unrouted)
}

// countRequests counts the requests of models, and reports whether others have requests now.
func (p *Page) countRequests(b *exposition.Block) (changed bool) {
	for version, series := range p.counts {
		n := 0.0
		for _, i := range series {
			if v, ok := b.WatchedValue(i); ok && v > 0 {
				n += v
			}
		}
		changed = changed || n > 0 != (p.requests[version] > 0)
		p.requests[version] = n
	}
	return changed
}

// Busy returns the models that have requests, the busiest first, if the page has many models.
func (p *Page) Busy() (names []string) {
	requests := make(map[string]float64)
	for version := range p.get().counts {
		requests[version[0]] += p.requests[version]
	}
	maps.DeleteFunc(requests, func(_ string, n float64) bool { return n == 0 })
	return slices.SortedFunc(maps.Keys(requests), func(a, b string) int {
		return cmp.Or(cmp.Compare(requests[b], requests[a]), strings.Compare(a, b))
	})
}

// Uses is a number that differs once other models have requests, if the page has many models.
func (p *Page) Uses() int { return p.uses }

// Requests returns how many requests of a version of a model ended, empty for all of them. A loaded one on a
// page without many counts as in use.
func (p *Page) Requests(name, version string) (n float64) {
	if loaded, _ := p.Loaded(name); !loaded {
		return 0
	}
	named, nameless := [2]string{name, version}, [2]string{name, ""}
	switch {
	case version != "" && !p.versions[named] && !p.versions[nameless]:
		return 0
	case len(p.counts) == 0:
		return 1
	case version != "":
		return p.requests[named] + p.requests[nameless]
	}
	for counted, requests := range p.requests {
		if counted[0] == name {
			n += requests
		}
	}
	return n
}

// compareRanks compares the batches of ranks, and reports whether this revealed anything new.
func (p *Page) compareRanks(b *exposition.Block) bool {
	if p.stated != 0 {
		return false
	}
	batches := make([]float64, len(p.batches))
	for i, series := range p.batches {
		v, ok := b.WatchedValue(series)
		if !ok {
			return false
		}
		batches[i] = v
	}
	ended := 0.0
	for _, series := range p.endings {
		if v, ok := b.WatchedValue(series); ok {
			ended += v
		}
	}
	previous := p.comparison.result
	p.comparison.add(batches, ended)
	if p.comparison.result == previous {
		return false
	}
	p.readContent()
	return true
}

// Units of timestamps, which are kept instead of the values.
const seconds, microseconds = 1, 2

func unitOf(timestamp float64) float64 {
	const micros = 1e12
	switch {
	case timestamp <= 0:
		return 0
	case timestamp < micros:
		return seconds
	}
	return microseconds
}

// Paused reports whether the pages say that somebody paused the server, and nobody continued it since.
func (p *Page) Paused() bool { return p != nil && p.pause.said() }

// MemoryTaken reports whether the pages say that somebody took the memory of the model away, and did not give it
// back since.
func (p *Page) MemoryTaken() bool { return p != nil && p.pause.memoryTaken() }

// MemoryUnsure reports whether somebody took it away before the first page, and nothing shows yet whether all of it
// was given back. A request may break the server then.
func (p *Page) MemoryUnsure() bool { return p != nil && p.pause.memoryUnsure() }

// Updates reports whether the pages say that requests wait until somebody has replaced the weights.
func (p *Page) Updates() bool { return p != nil && p.pause.updating }

// Called reports whether the pages say that requests may wait until a call of an operator is answered.
func (p *Page) Called() bool { return p != nil && p.pause.called }

// Unrouted reports whether the page lists models but requests for none of them can be routed.
func (p *Page) Unrouted() bool { return p.Has(ModelRoutable) && p.values[ModelRoutable] <= 0 }

// UnroutedModels returns the models that the page lists and requests cannot be routed for, sorted.
func (p *Page) UnroutedModels() []string {
	if p == nil {
		return nil
	}
	return p.unrouted
}

// ended reports whether any request has ended.
func (p *Page) ended() bool { return p.values[RequestsFinished] > 0 || p.values[RequestDuration] > 0 }

// timeless reports whether times of requests are counted and not measured: all of them together are 0.
func (p *Page) timeless(s Signal) bool {
	sum, measured := p.sums[s]
	return p.values[s] > 0 && measured && sum <= 0
}

// averaged reports whether the page has the sum and the count of times, and no buckets of them, as a summary does.
func (p *Page) averaged(s Signal) bool {
	return !p.Has(s) && len(p.valued[s]) > 0 && len(p.timed[s]) > 0
}

// shareless reports whether all series of a share say that there is none.
func (p *Page) shareless(s Signal) bool { return s == KVHitRatio && p.values[s] < 0 }

// Value returns the latest value of a signal in content.valued, false if it is not positive.
func (p *Page) Value(s Signal) (float64, bool) {
	if p == nil {
		return 0, false
	}
	v := p.values[s]
	return v, v > 0
}

// cacheless reports whether the page shows the size of the KV cache as 0.
func (p *Page) cacheless() bool {
	shown := false
	for _, size := range []Signal{KVBlocksLimit, WorkerKVBlocks, KVTokensLimit} {
		if _, known := p.Value(size); known {
			return false
		}
		shown = shown || p.Has(size)
	}
	return shown
}

// Buckets returns the bounds of the page's histograms by family.
func (p *Page) Buckets() map[string]string { return p.get().buckets }

// GPU describes the GPUs: number and model, or else number and largest memory.
func (p *Page) GPU() (string, bool) {
	c := p.get()
	if c.gpuType != "" {
		return strconv.Itoa(max(c.gpus, 1)) + "x " + c.gpuType, true
	}
	if v, ok := p.Value(GPUMemoryTotal); ok {
		return strconv.Itoa(len(c.valued[GPUMemoryTotal])) + "x " + strconv.FormatFloat(v, 'f', -1, 64) + " bytes", true
	}
	return "", false
}

// Process identifies the process behind a page. It is zero if the page does not.
type Process struct {
	// ID is the name that it gives itself, Started its start as a Unix time.
	ID      string
	Started float64
}

// startJitter is how many seconds readings of a start time may differ, since clocks are adjusted.
const startJitter = 2

// SameAs reports whether both are one process. Equal starts prove nothing: workers start together.
func (p Process) SameAs(other Process) (same, known bool) {
	switch {
	case p.ID != "" && other.ID != "":
		return p.ID == other.ID, true
	case p.Started > 0 && other.Started > 0:
		return false, math.Abs(p.Started-other.Started) >= startJitter
	}
	return false, false
}

// processStart is the start time of the process, which client libraries show.
const processStart = "process_start_time_seconds"

// processMeanings returns the meanings of series that pages of any kind may have. The client
// libraries share the name (client_python process_collector.py, client_golang
// process_collector.go); python omits it on pages that add up several processes.
func processMeanings() []Meaning {
	return []Meaning{{Name: processStart, Signal: ProcessStarted, Combine: Max}}
}

// Process returns the process behind a block of the page's shape, zero if the page shows several.
func (p *Page) Process(b *exposition.Block) Process {
	var process Process
	if len(p.processIDs) == 1 {
		process.ID = p.processIDs[0]
	}
	if len(p.starts) == 1 {
		process.Started, _ = b.WatchedValue(p.starts[0])
	}
	return process
}

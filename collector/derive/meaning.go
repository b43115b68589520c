package derive

import (
	"slices"
	"strconv"
	"strings"
	"unique"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// What this package reads of the meanings of series, of pages and of kinds of servers.

// source is one series of the page with one meaning, under a public model id.
type source struct {
	place  exposition.ValueIndex
	labels labels.Labels
	part   engine.Part
	// name and version are what the server calls the model.
	name, version, id string

	meaning *engine.Meaning
	// counter is true if the value only grows while the server runs.
	counter bool
	// ofProcess is true if it does so until the process ends.
	ofProcess bool
	// signal is not that of the meaning if the model is not loaded.
	signal engine.Signal
	// class is the outcome of the requests that it counts, if they ended.
	class engine.Class
}

// sourcesOf returns the sources of a page, except the executor of a draft model, tokens that another model counts
// again, and models that are not loaded, of which only failures are returned.
func sourcesOf(page *engine.Page, naming *Naming) (all []source) {
	for _, s := range page.Sources() {
		in := source{
			place:     s.Place,
			labels:    s.Labels,
			part:      s.Part,
			name:      s.Model,
			version:   s.Version,
			id:        naming.Topology.ModelID(s.Model),
			meaning:   s.Meaning,
			counter:   s.Counter,
			ofProcess: s.OfProcess,
			signal:    s.Meaning.Signal,
			class:     classOf(&s),
		}
		if s.Unloaded {
			if in.signal != engine.ModelFailed {
				continue
			}
			in.signal = engine.UnloadedFailures
		}
		again := s.Meaning.PerRequest && naming.Topology.Prefills(s.Model)
		draft := in.scope() == engine.OfEngine && naming.Topology.Role(s.Model) == engine.RoleDraft
		if !draft && !again && s.Meaning.Holds(naming.EngineVersion) {
			all = append(all, in)
		}
	}
	return all
}

func (s *source) scope() engine.Scope { return s.meaning.Scope() }

// quantile reports whether the source is a quantile of a summary, which is NaN without observations.
func (s *source) quantile() bool { return s.meaning.Form() != engine.Single && !s.counter }

// zeroUnknown reports whether the server shows 0 for an unknown value.
func (s *source) zeroUnknown() bool { return s.meaning.ZeroUnknown() }

// shift returns the decimal places between the unit of the source and ours: buckets and counts have
// no unit.
func (s *source) shift() int {
	if s.part == engine.PartBucket || s.part == engine.PartCount {
		return 0
	}
	return s.meaning.Shift
}

// rank returns the data-parallel rank of a source, empty if unknown.
func (s *source) rank() rank { return rank{s.name, s.labels.Get(s.meaning.Rank)} }

// classOf returns the class of a source by the first label that its meaning keeps.
func classOf(s *engine.Source) engine.Class {
	if s.Meaning.Outcome == nil {
		return ""
	}
	reason := ""
	for _, kept := range s.Meaning.Dims {
		if reason = s.Labels.Get(kept.Theirs); reason != "" {
			break
		}
	}
	return s.Meaning.Outcome.Class(strings.ToLower(reason))
}

// countsEnds reports whether a source of a page counts requests that ended well, or of which nobody
// knows how they ended.
func countsEnds(s *engine.Source) bool {
	class := classOf(s)
	return s.Counter && (class == "" || class == engine.ClassOK)
}

const labelClass = "class"

// keepLabels sets the labels that a meaning preserves or adds.
func (s *source) keepLabels(b *labels.Builder) {
	for _, kept := range s.meaning.Dims {
		if v := s.labels.Get(kept.Theirs); v != "" {
			if kept.Ours == "reason" {
				v = s.meaning.Outcome.ReasonPrefix() + strings.ToLower(v)
			}
			b.Set(kept.Ours, v)
		}
	}
	if s.class != "" && s.signal != engine.ModelSuccess {
		b.Set(labelClass, string(s.class))
	}
	if added := s.meaning.Const; added.Name != "" {
		b.Set(added.Name, added.Value)
	}
}

// labelsKept returns the names of the labels that the series of a meaning have besides those of
// their model.
func labelsKept(m *engine.Meaning, signal engine.Signal) (names []string) {
	for _, kept := range m.Dims {
		names = append(names, kept.Ours)
	}
	if m.Const.Name != "" {
		names = append(names, m.Const.Name)
	}
	if m.Outcome != nil && signal != engine.ModelSuccess {
		names = append(names, labelClass)
	}
	return names
}

// columnOf returns what identifies the source's column in windows; gpus are the GPUs of the page.
func (s *source) columnOf(gpus []string) columnName {
	gpu, lset := slices.Index(gpus, s.labels.Get(exposition.LabelGPU))+1, s.labels
	if gpu > 0 {
		lset = labels.NewBuilder(lset).Del(exposition.LabelGPU).Labels()
	}
	return columnName{unique.Make(s.meaning.Signal.String() + "\x00" + lset.String()), uint8(gpu)}
}

// groupKey returns what sources of one derived series have in common.
func (s *source) groupKey(lset labels.Labels) string {
	return s.signal.String() + "\x00" + strconv.Itoa(int(s.meaning.Form())) + lset.String()
}

// newGroup returns a group without members for the series that are alike with a source.
func newGroup(s *source, lset labels.Labels, role engine.Role) *group {
	return &group{
		signal:  s.signal,
		labels:  lset,
		name:    s.name,
		version: s.version,
		role:    role,
		class:   s.class,
		ofModel: s.scope() == engine.OfModel,
		form:    s.meaning.Form(),
		shift:   s.meaning.Shift,
		combine: s.meaning.Combine,
		late:    s.meaning.WhenEnded,
		outcome: s.meaning.Outcome,
		fail:    s.meaning.Fails,
		source:  s.meaning.Name,

		parts: &noParts,
	}
}

// countedClasses returns the classes all of whose requests the kind of server has counters for.
func countedClasses(page *engine.Page, kind *engine.Kind) []engine.Class {
	meanings := kind.Meanings()
	return filter(classOrder, func(class engine.Class) bool {
		return slices.ContainsFunc(meanings, func(m engine.Meaning) bool {
			return (m.Inside == "" || m.Inside == page.NamedModels().Inside) &&
				m.Outcome != nil && m.Outcome.Again == "" && m.Outcome.Counts(class) && !m.Outcome.Misses(class)
		})
	})
}

// server describes a kind of server with one of its possible engines: its signals and their
// meanings on its page. Signals that are answered by its API have no meanings.
type server struct {
	kind    engine.Name
	inside  engine.Name
	signals map[engine.Signal][]engine.Meaning
}

// newServers returns all kinds of servers, each with each engine that may be inside.
func newServers() (all []server) {
	for _, e := range engine.All() {
		for _, inside := range insides(e) {
			s := server{e.Name, inside, make(map[engine.Signal][]engine.Meaning)}
			for _, m := range e.Meanings() {
				if m.Inside == "" || m.Inside == inside {
					s.signals[m.Signal] = append(s.signals[m.Signal], m)
				}
			}
			for _, signal := range e.Answers {
				s.signals[signal] = []engine.Meaning{}
			}
			all = append(all, s)
		}
	}
	return all
}

// insides returns the engines whose metrics a server may pass on, or only the empty kind.
func insides(e *engine.Kind) []engine.Name {
	kinds := []engine.Name{""}
	for _, m := range e.Meanings() {
		if !slices.Contains(kinds, m.Inside) {
			kinds = append(kinds, m.Inside)
		}
	}
	if len(kinds) > 1 {
		return kinds[1:]
	}
	return kinds
}

// labelsOf returns the scope and labels of the series of a signal, over all kinds of servers.
func labelsOf(signal engine.Signal) (Scope, []string) {
	scope, names := OfReplica, []string(nil)
	for _, s := range servers() {
		for i := range s.signals[signal] {
			m := &s.signals[signal][i]
			switch m.Scope() {
			case engine.OfModel:
				scope, names = OfModel, append(names, "role", "version")
			case engine.OfEngine:
				if scope != OfModel { // Some servers count per model what others count in total.
					scope = OfEntry
				}
			case engine.OfServer:
			}
			names = append(names, labelsKept(m, signal)...)
		}
	}
	return scope, names
}

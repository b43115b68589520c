package engine

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

// UnknownWordError is a word in a declaration that is none of those that its key takes.
type UnknownWordError struct {
	Word  string
	Known []string
}

// Error implements error.
func (u *UnknownWordError) Error() string {
	const most = 12
	if len(u.Known) > most {
		return fmt.Sprintf("%q is unknown; docs/kinds.md lists the words", u.Word)
	}
	return fmt.Sprintf("%q is unknown; use %s", u.Word, strings.Join(u.Known, ", "))
}

// mistakes collects errors of a declaration, each of which begins with its key.
type mistakes []error

func (m *mistakes) addIf(wrong bool, key, format string, args ...any) {
	if wrong {
		*m = append(*m, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
}

// addUnless adds a word that is not among the known ones.
func (m *mistakes) addUnless(known []string, key, word string) {
	if !slices.Contains(known, word) {
		*m = append(*m, fmt.Errorf("%s: %w", key, &UnknownWordError{word, known}))
	}
}

func (m *mistakes) addAll(key string, errs mistakes) {
	for _, err := range errs {
		*m = append(*m, fmt.Errorf("%s.%w", key, err))
	}
}

// checkDeclarations returns all that is wrong with declarations. What is right cannot change what is known
// of servers of other kinds: a page that is theirs stays theirs.
func checkDeclarations(all []Declaration) error {
	var m mistakes
	for i := range all {
		d, key := &all[i], fmt.Sprintf("kinds[%d]", i)
		m.addAll(key, d.mistakes())
		for j := range all[:i] {
			m.addAll(key, d.conflicts(&all[j]))
		}
	}
	return errors.Join(m...)
}

var kindName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]{0,62}$`)

func (d *Declaration) mistakes() (m mistakes) {
	if d.Extends != "" {
		m = d.extensionMistakes()
	} else {
		m = d.ownMistakes()
	}
	for i, name := range d.ModelLabels {
		m.addIf(!isLabel(name), fmt.Sprintf("model_labels[%d]", i), "%q is not the name of a label", name)
	}
	m.addIf(d.RankLabel != "" && !isLabel(d.RankLabel), "rank_label", "%q is not the name of a label", d.RankLabel)
	m.addIf(slices.Contains(slices.Concat(usualModelLabels(), d.ModelLabels), d.RankLabel), "rank_label",
		"%q names the model; write the label of data-parallel ranks, or leave it out", d.RankLabel)
	m.addIf(len(d.Series) == 0 && d.Extends != "", "series", "none is added; list names of the page, each with its "+
		"signal, or uncomment those of a draft that are right")
	meanings := d.meanings()
	problems := meaningProblems(slices.Concat(meanings, d.extendedSeries()))
	named := byName(meanings)
	for i := range d.Series {
		key := fmt.Sprintf("series[%d]", i)
		own := d.Series[i].mistakes()
		own = append(own, d.prefixedTwice(&d.Series[i])...)
		m.addAll(key, own)
		for _, problem := range problems[i] {
			m.addIf(len(own) == 0, key, "%s %s", meanings[i].Name, problem)
		}
		above := named[meanings[i].Name].before(&meanings[i]).count(&meanings[i])
		m.addIf(above != NoSignal && len(own) == 0, key, "%s counts series that the line of %s counts already; choose them "+
			"apart, or remove one", meanings[i].Name, above)
	}
	return m
}

// prefixedTwice returns names that have the prefix already.
func (d *Declaration) prefixedTwice(s *DeclaredSeries) (m mistakes) {
	check := func(key, name string) {
		rest, twice := strings.CutPrefix(name, d.Prefix)
		m.addIf(twice && d.Prefix != "", key, "%q has the prefix, which is added to it; write %q", name, rest)
	}
	check("name", s.Name)
	for i, name := range s.Unless {
		check(fmt.Sprintf("unless[%d]", i), name)
	}
	for i, name := range s.With {
		check(fmt.Sprintf("with[%d]", i), name)
	}
	return m
}

// count returns the signal of a meaning that has series of another one too: combined otherwise, or as requests that
// ended otherwise, [NoSignal] if there is none.
func (n namesakes) count(other *Meaning) Signal {
	for _, listed := range n {
		m := *listed
		if m.Signal.ends() && other.Signal.ends() {
			m.Signal = other.Signal
		}
		m.Combine = other.Combine
		if (listed.Signal != m.Signal || listed.Combine != m.Combine) && other.overlaps(&m) {
			return listed.Signal
		}
	}
	return NoSignal
}

// ownMistakes returns what is wrong with the keys of a new kind.
func (d *Declaration) ownMistakes() (m mistakes) {
	_, builtIn := ByName(d.Name)
	switch {
	case d.Name == "":
		m.addIf(true, "name", "is required: the value of label engine; or set extends to the built-in kind that "+
			"the series are added to")
	case builtIn:
		m.addIf(true, "name", "%q is a built-in kind; choose another name, or set extends: %s to add series to it",
			d.Name, d.Name)
	case d.Name == string(Unknown) || d.Name == "auto":
		m.addIf(true, "name", "%q is reserved; choose another name", d.Name)
	case !kindName.MatchString(d.Name):
		m.addIf(true, "name", "%q has other characters than a-z, 0-9 and ._-, or is longer than 63 of them", d.Name)
	}
	marks := d.marks()
	m.addIf(len(marks) == 0, "marks", "none is given, so that no page is recognised; set prefix, or list the "+
		"beginnings of names that only this kind of server has")
	for i, text := range marks {
		key := fmt.Sprintf("marks[%d]", i)
		if len(d.Marks) == 0 {
			key = "prefix"
		}
		why := notMark(text)
		m.addIf(why != "", key, "%s", why)
	}
	for _, p := range []struct{ key, path string }{
		{"page", d.Paths.Page}, {"health", d.Paths.Health}, {"models", d.Paths.Models}, {"version", d.Paths.Version},
	} {
		m.addIf(p.path != "" && (!strings.HasPrefix(p.path, "/") || strings.ContainsAny(p.path, "?#")),
			"paths."+p.key, "%q is not a path; it begins with / and ends before any ? or #", p.path)
	}
	m.addIf(d.Paths.VersionKey != "" && d.Paths.Version == "", "paths.version_key", "has no effect without version, "+
		"the path whose answer has the key")
	m.addIf(d.ModelsOwnedBy != "" && d.Paths.Models == "", "models_owned_by", "has no effect without paths.models")
	return m
}

// extensionMistakes returns what is wrong with the keys of an addition to a built-in kind.
func (d *Declaration) extensionMistakes() (m mistakes) {
	m.addUnless(BuiltIn().Names(), "extends", d.Extends)
	for _, k := range []struct {
		key string
		set bool
	}{
		{"name", d.Name != ""},
		{"marks", d.Marks != nil},
		{"paths", d.Paths != DeclaredPaths{}},
		{"models_owned_by", d.ModelsOwnedBy != ""},
		{"openai", d.OpenAI},
	} {
		m.addIf(k.set, k.key, "is for a kind of its own; leave it out, since %s is known", d.Extends)
	}
	builtIn, ok := ByName(d.Extends)
	if !ok {
		return m
	}
	read := namesOf(builtIn.Meanings())
	for i, added := range d.meanings() {
		names := namesOf([]Meaning{added})
		for name := range read {
			m.addIf(names[name] && len(None().index()[name]) == 0, fmt.Sprintf("series[%d].name", i),
				"%s of %s has a meaning already", name, d.Extends)
		}
	}
	return m
}

// namesOf returns the names of samples with a meaning, and those of their families.
func namesOf(all []Meaning) map[string]bool {
	names := make(map[string]bool)
	for name := range newIndex(&Kind{meanings: all}) {
		names[name] = true
	}
	for i := range all {
		names[all[i].Name] = true
	}
	return names
}

// extendedSeries returns the series of the built-in kind that is extended.
func (d *Declaration) extendedSeries() []Meaning {
	if builtIn, ok := ByName(d.Extends); ok {
		return builtIn.series
	}
	return nil
}

// conflicts returns what two declarations cannot both be.
func (d *Declaration) conflicts(o *Declaration) (m mistakes) {
	m.addIf(d.Name != "" && d.Name == o.Name, "name", "%q is the name of two kinds", d.Name)
	m.addIf(d.Extends != "" && d.Extends == o.Extends, "extends", "%s is extended twice; list all series in one place",
		d.Extends)
	if d.Extends != "" || o.Extends != "" {
		return m
	}
	for _, mine := range d.marks() {
		for _, other := range o.marks() {
			m.addIf(strings.HasPrefix(mine, other) || strings.HasPrefix(other, mine), "marks",
				"%s and %s of %s begin the same names, so that a page could be of either", mine, other, o.Name)
		}
	}
	return m
}

var namePrefix = regexp.MustCompile(`^[a-zA-Z_:][a-zA-Z0-9_:]+$`)

// notMark explains why a text does not identify a kind of server, empty if it may.
func notMark(text string) string {
	if !namePrefix.MatchString(text) {
		return fmt.Sprintf("%q begins no names of series; write the letters before what differs, as in lmdeploy:", text)
	}
	for _, library := range []string{"python_", "process_", "http_", "go_", "promhttp_"} {
		if strings.HasPrefix(library, text) || strings.HasPrefix(text, library) {
			return fmt.Sprintf("%q begins names that pages of any program may have; choose one that only this "+
				"kind of server has", text)
		}
	}
	all := knownMarks()
	at := slices.IndexFunc(all, func(k knownMark) bool { return k.mark && strings.HasPrefix(text, k.text) })
	if at < 0 {
		at = slices.IndexFunc(all, func(k knownMark) bool { return strings.HasPrefix(k.text, text) })
	}
	if at < 0 {
		return ""
	}
	return fmt.Sprintf("%q begins names of %s (%s), which it is then; choose another, or set engine in the pool",
		text, all[at].owner, all[at].text)
}

// knownMark is a name of a built-in kind or companion, or the beginning of names by which one is known.
type knownMark struct {
	text, owner string
	mark        bool
}

//nolint:gochecknoglobals // constant data, built on first use.
var knownMarks = sync.OnceValue(func() (all []knownMark) {
	addMarks := func(owner string, marks []mark) {
		for _, m := range marks {
			if !m.anywhere {
				all = append(all, knownMark{m.text, owner, true})
			}
		}
	}
	for _, k := range All() {
		addMarks(string(k.Name), k.marks)
	}
	for _, c := range companions() {
		addMarks(c.name, c.marks)
	}
	for _, k := range All() {
		for i := range k.series {
			all = append(all, knownMark{k.series[i].Name, string(k.Name), false})
		}
	}
	return all
})

// mistakes returns what is wrong with the keys of a series, besides what [Meaning.problems] finds.
func (s *DeclaredSeries) mistakes() (m mistakes) {
	m.addIf(s.Name == "", "name", "is required: a name on the page, without the prefix; of a histogram without _bucket")
	if s.Signal == "" {
		m.addIf(true, "signal", "is required: what the name means; docs/kinds.md lists the words")
	} else {
		m.addUnless(way(DeclarableSignals()).words(), "signal", s.Signal)
	}
	if family := s.histogram(); family != "" {
		m.addIf(true, "name", "%q is one of the series of a histogram; write %q, since signal %s is of all of them",
			s.Name, family, s.Signal)
	}
	for i := range s.Where {
		m.addAll(fmt.Sprintf("where[%d]", i), s.Where[i].mistakes())
	}
	m = append(m, s.factorMistakes()...)
	if s.Combine != "" {
		m.addUnless(wordsOf([]DeclaredCombine{DeclaredSum, DeclaredMax, DeclaredNewest}), "combine", string(s.Combine))
	}
	for _, bound := range []struct{ key, release string }{{"from", s.From}, {"before", s.Before}} {
		m.addIf(bound.release != "" && len(releaseOf(bound.release)) == 0, bound.key,
			"%q is not a release; write it like 0.6.3", bound.release)
	}
	if len(m) > 0 {
		return m
	}
	m.addIf(s.Before != "" && s.From != "" && compare(s.From, s.Before) >= 0, "before",
		"no release is from %s on and before %s", s.From, s.Before)
	m.addIf(s.WhenEnded && !s.signal().countsTokens(), "when_ended", "is for counters of tokens; leave it out")
	m = append(m, s.namesMistakes()...)
	m = append(m, s.labelMistakes()...)
	return append(m, s.classMistakes()...)
}

// factorMistakes returns what is wrong with the factor: counts have no unit.
func (s *DeclaredSeries) factorMistakes() (m mistakes) {
	m.addIf(s.shift() < 0, "factor", "%g is none of 1, 0.1, 0.01 and so on to 1e-9; series in larger units, such as "+
		"minutes or MiB, cannot be read, so leave them out", s.factor())
	m.addIf(s.shift() > 0 && s.signal().unit() == "", "factor",
		"series of signal %s count, and have no unit; leave it out", s.Signal)
	return m
}

// unit returns the unit of a signal, empty if it counts something.
func (s Signal) unit() string {
	for _, unit := range []string{"seconds", "bytes", "ratio", "watts"} {
		if strings.HasSuffix(s.String(), "_"+unit) {
			return unit
		}
	}
	return ""
}

func (s Signal) countsTokens() bool {
	return s.Type().Counter && strings.Contains(s.String(), "tokens")
}

// namesMistakes returns what is wrong with the names that a page has or lacks.
func (s *DeclaredSeries) namesMistakes() (m mistakes) {
	for _, list := range []struct {
		key   string
		names []string
	}{{"unless", s.Unless}, {"with", s.With}} {
		for i, name := range list.names {
			m.addIf(name == "", fmt.Sprintf("%s[%d]", list.key, i), "is empty; write a name of the page, without prefix")
		}
	}
	for i, name := range s.With {
		both := slices.Contains(s.Unless, name)
		m.addIf(both, fmt.Sprintf("with[%d]", i), "%q is in unless too: no page has and lacks it", name)
	}
	return m
}

// histogram returns the name of the histogram of which the series is a part, empty unless the signal needs all of it.
func (s *DeclaredSeries) histogram() string {
	for _, part := range []string{"_bucket", "_sum", "_count"} {
		if family, ok := strings.CutSuffix(s.Name, part); ok && s.signal().Type().Form == Histogram {
			return family
		}
	}
	return ""
}

func (w *DeclaredMatch) mistakes() (m mistakes) {
	ways := 0
	for _, value := range []*string{w.Is, w.IsNot, w.Begins} {
		if value != nil {
			ways++
		}
	}
	m.addIf(w.Label == "", "label", "is required: the label that selects series")
	m.addIf(ways != 1, "label", "needs one of is, is_not and begins beside it")
	return m
}

// labelMistakes returns what is wrong with the labels that are kept: only those of built-in kinds have a
// place in rules and dashboards.
func (s *DeclaredSeries) labelMistakes() (m mistakes) {
	known := labelsKeptWith(s.signal())
	for _, ours := range sorted(s.Labels) {
		if len(known) == 0 {
			m.addIf(true, "labels", "series of signal %s have no labels of their own; leave them out", s.Signal)
			return m
		}
		if slices.Contains(known, s.Labels[ours]) && !slices.Contains(known, ours) {
			m.addIf(true, "labels", "%q is our name and %q theirs; write { %s: %s }", s.Labels[ours], ours, s.Labels[ours], ours)
			continue
		}
		m.addUnless(known, "labels."+ours, ours)
	}
	return m
}

// labelsKeptWith returns our names of the labels that built-in kinds keep of series with a signal.
func labelsKeptWith(s Signal) (names []string) {
	for _, k := range All() {
		for i := range k.series {
			for _, dim := range k.series[i].Dims {
				if k.series[i].Signal == s && !slices.Contains(names, dim.Ours) {
					names = append(names, dim.Ours)
				}
			}
		}
	}
	slices.Sort(names)
	return names
}

// classMistakes returns what is wrong with how requests ended.
func (s *DeclaredSeries) classMistakes() (m mistakes) {
	known := wordsOf(Classes())
	if s.Class != "" {
		m.addUnless(known, "class", string(s.Class))
	}
	for _, reason := range sorted(s.Classes) {
		m.addUnless(known, "classes."+reason, string(s.Classes[reason]))
	}
	switch {
	case !s.signal().ends() && (s.Class != "" || s.Classes != nil || s.StatusCodes):
		m.addIf(true, "class", "series of signal %s count no requests that ended; leave out class, classes and "+
			"status_codes", s.Signal)
	case (s.Classes != nil || s.StatusCodes) && s.Labels == nil:
		m.addIf(true, "labels", "which label tells how a request ended? write it like { %s: status }",
			strings.Join(labelsKeptWith(s.signal()), ", "))
	case s.StatusCodes && (s.Class != "" || s.Classes != nil):
		m.addIf(true, "status_codes", "tell the class of each request; leave out class and classes")
	case s.signal() == RequestsFailed && s.Class == "" && !s.StatusCodes:
		m.addIf(true, "class", "is required: who is to blame for these requests? server, overload, client or canceled")
	}
	return m
}

// wordsOf returns words as text.
func wordsOf[W ~string](words []W) []string {
	all := make([]string, len(words))
	for i, w := range words {
		all[i] = string(w)
	}
	return all
}

// DeclarableSignals returns the signals that series of a declared kind may show, in the order of documents.
// The others need code, or belong to servers that have it.
func DeclarableSignals() []Signal {
	return []Signal{
		RequestsRunning, RequestsWaiting, RequestsActive, RequestsPrefill, RequestsDecode, RequestsLimit,
		RequestsStarted, RequestsFinished, RequestsFailed, RequestsRejected, Preemptions,

		PromptTokens, GenerationTokens, PromptTokensLive, GenerationTokensLive, CachedTokens,

		KVUtilization, KVTokensUsed, KVTokensFree, KVTokensLimit, KVBlocksUsed, KVBlocksFree, KVBlocksLimit,
		KVBlockTokens, KVBlocksReused, KVBlocksMissed, KVHitRatio,

		EngineIterations, BatchLimit, SpecDraft, SpecAccepted, EngineAwake,

		RequestDuration, FirstToken, OutputToken, InterToken, RequestQueue, RequestPrefill, RequestDecode,
		RequestInference, RequestPromptTokens, RequestOutputTokens,

		GPUUtilization, GPUMemoryUsed, GPUMemoryTotal, GPUPower, HostCPU, HostMemoryUsed, HostMemoryTotal,
	}
}

package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Declaration declares a kind of server in a file, or adds series to a built-in one. [Declare] makes kinds
// of declarations.
type Declaration struct {
	// Name is the value of the label engine. With Extends, the name of a built-in kind, there is none.
	Name    string `yaml:"name,omitempty"`
	Extends string `yaml:"extends,omitempty"`
	// Marks are beginnings of names by which a page is recognised, by default Prefix.
	Marks []string      `yaml:"marks,omitempty"`
	Paths DeclaredPaths `yaml:"paths,omitempty"`
	// ModelsOwnedBy is the owned_by in the list of models that confirms an API as that of the server.
	ModelsOwnedBy string `yaml:"models_owned_by,omitempty"`
	// OpenAI is true if the canary may ask the server as one with OpenAI's API.
	OpenAI bool `yaml:"openai,omitempty"`
	// ModelLabels are the labels that name a model, of which the first counts; RankLabel that of
	// data-parallel ranks.
	ModelLabels []string `yaml:"model_labels,omitempty"`
	RankLabel   string   `yaml:"rank_label,omitempty"`
	// Prefix begins the names of all series.
	Prefix string           `yaml:"prefix,omitempty"`
	Series []DeclaredSeries `yaml:"series"`
}

// DeclaredPaths are the paths of a declared kind's page and API. Health answers 200 while the server is
// ready, and anything while it is live; VersionKey is the key of the version in the answer of Version.
type DeclaredPaths struct {
	Page       string `yaml:"page,omitempty"`
	Health     string `yaml:"health,omitempty"`
	Models     string `yaml:"models,omitempty"`
	Version    string `yaml:"version,omitempty"`
	VersionKey string `yaml:"version_key,omitempty"`
}

// DeclaredSeries says what the series of one name mean. Whether they are counters, gauges or histograms
// follows from the signal.
type DeclaredSeries struct {
	Name   string          `yaml:"name"`
	Signal string          `yaml:"signal"`
	Where  []DeclaredMatch `yaml:"where,omitempty"`
	// Labels are those to keep: the server's names by ours.
	Labels map[string]string `yaml:"labels,omitempty"`
	// Factor turns values into seconds, bytes or ratios: a power of ten from 1e-9 to 1, which is the default.
	Factor *float64 `yaml:"factor,omitempty"`
	// Combine is how the series of one model make up a value, by default [DeclaredSum], or [DeclaredMax] where they
	// do not add up.
	Combine DeclaredCombine `yaml:"combine,omitempty"`
	// WhenEnded is true for tokens that count when their request ends.
	WhenEnded bool `yaml:"when_ended,omitempty"`
	// Class is how the requests of a counter ended, Classes where their label has these values. With
	// StatusCodes it has HTTP statuses.
	Class       Class            `yaml:"class,omitempty"`
	Classes     map[string]Class `yaml:"classes,omitempty"`
	StatusCodes bool             `yaml:"status_codes,omitempty"`
	// Unless lists names that replace the series where the page has them.
	Unless []string `yaml:"unless,omitempty"`
	// With lists names without which on the page the series does not mean this.
	With []string `yaml:"with,omitempty"`
	// From and Before are the releases in which the series means this.
	From   string `yaml:"from,omitempty"`
	Before string `yaml:"before,omitempty"`
}

// DeclaredMatch selects series by a label: one of the others is set. An absent label is empty.
type DeclaredMatch struct {
	Label  string  `yaml:"label"`
	Is     *string `yaml:"is,omitempty"`
	IsNot  *string `yaml:"is_not,omitempty"`
	Begins *string `yaml:"begins,omitempty"`
}

// DeclaredCombine is a [Combine] in a file.
type DeclaredCombine string

// Ways to combine series.
const (
	DeclaredSum    DeclaredCombine = "sum"
	DeclaredMax    DeclaredCombine = "max"
	DeclaredNewest DeclaredCombine = "newest"
)

// Declare returns the built-in kinds with those that are declared, or what is wrong with the declarations.
// Each error begins with its key.
func Declare(all []Declaration) (*Kinds, error) {
	if err := checkDeclarations(all); err != nil {
		return nil, err
	}
	text, err := json.Marshal(all)
	if err != nil {
		return nil, err
	}
	ks := &Kinds{builtIn: All(), text: string(text)}
	for i := range all {
		d := &all[i]
		k := d.kind()
		if d.Extends == "" {
			ks.declared = append(ks.declared, k)
			continue
		}
		at := slices.IndexFunc(ks.builtIn, func(b *Kind) bool { return b.Name == k.Name })
		ks.builtIn[at] = k
	}
	slices.SortFunc(ks.declared, func(a, b *Kind) int { return cmp.Compare(a.Name, b.Name) })
	return ks, nil
}

// kind returns the kind of a declaration that was checked.
func (d *Declaration) kind() *Kind {
	k := d.own()
	if d.Extends != "" {
		k = d.extended()
	}
	if text, err := json.Marshal(d); err == nil {
		k.declaration = string(text)
	}
	k.complete()
	return k
}

// own returns a kind that only the declaration knows.
func (d *Declaration) own() *Kind {
	k := &Kind{
		Name:     Name(d.Name),
		Path:     cmp.Or(d.Paths.Page, None().Path),
		priority: declaredPriority,
		series:   d.meanings(),
		quirks:   Quirks{CountersAppear: true},
		Declared: true,

		Ready:       d.Paths.Health,
		live:        d.Paths.Health,
		modelsPath:  d.Paths.Models,
		modelLabels: d.ModelLabels,
		versionPath: d.Paths.Version,
		versionKey:  cmp.Or(d.Paths.VersionKey, versionKey),
		versionless: d.Paths.Version == "",
		healthNote:  "the API answers",

		judge: declaredJudge,

		countsFailures: declaredFailures,

		identify: func(context.Context, *questions) string { return "" }, // Marks alone show it.
		ask:      declaredAsk,
	}
	for _, text := range d.marks() {
		k.marks = append(k.marks, mark{text: text, weight: 1})
	}
	if d.ModelsOwnedBy != "" {
		k.owners = []string{d.ModelsOwnedBy}
	}
	if !d.OpenAI {
		k.noStream = "the file of its kind does not say that it has OpenAI's API (openai: true)"
	}
	k.Answers = d.answers(k.series)
	k.lacking = func(name string, known *Knowledge) target.Check { return declaredLacking(k, name, known) }
	return k
}

// declaredPriority is lower than that of any built-in kind.
const declaredPriority = -2

func (d *Declaration) marks() []string {
	if len(d.Marks) == 0 && d.Prefix != "" {
		return []string{d.Prefix}
	}
	return d.Marks
}

// answers returns what the API of a kind with these series provides.
func (d *Declaration) answers(series []Meaning) (all []Signal) {
	for _, answer := range []struct {
		signal Signal
		there  bool
	}{
		{AnswersHealth, d.Paths.Health != ""},
		{AnswersLive, d.Paths.Health != ""},
		{AnswersModels, d.Paths.Models != ""},
		{AnswersStream, d.OpenAI},
		{FailuresCounted, slices.ContainsFunc(series, func(m Meaning) bool { return m.countsFailures() })},
	} {
		if answer.there {
			all = append(all, answer.signal)
		}
	}
	return all
}

// countsFailures reports whether a file says that the series counts failures of the server.
func (m *Meaning) countsFailures() bool {
	return m.Outcome != nil && m.Outcome.Counts(ClassServer) && !m.Outcome.Misses(ClassServer)
}

// declaredFailures reports whether the page has series that count failures, as a file says.
func declaredFailures(p *Page) bool {
	return p.hasReading(func(r reading) bool { return r.meaning.countsFailures() })
}

// extended returns a built-in kind with the declared series. Where a page has both, these stand for what
// the kind's own series show of the same quantity.
func (d *Declaration) extended() *Kind {
	builtIn, _ := ByName(d.Extends)
	k, added := *builtIn, d.meanings()
	k.series = slices.Clone(builtIn.series)
	for i := range k.series {
		m := &k.series[i]
		m.Unless = slices.Clone(m.Unless)
		for j := range added {
			if added[j].Signal == m.Signal {
				m.Unless = append(m.Unless, replacedBy(added[j].Name)...)
			}
		}
	}
	for i := range added {
		added[i].Added = true
	}
	k.series = append(k.series, added...)
	k.modelLabels = slices.Concat(builtIn.ModelLabels(), d.ModelLabels)
	return &k
}

// DeclaredSeries returns the meanings of the series that a file declares.
func (k *Kind) DeclaredSeries() []Meaning {
	return slices.DeleteFunc(slices.Clone(k.series), func(m Meaning) bool { return !k.Declared && !m.Added })
}

// Marks returns the beginnings of names by which a page is recognised.
func (k *Kind) Marks() (texts []string) {
	for _, m := range k.marks {
		if !m.anywhere {
			texts = append(texts, m.text)
		}
	}
	return texts
}

// SameAs reports whether the meaning of a sample, or of a bucket, sum or count, is that of a family.
func (m *Meaning) SameAs(family *Meaning) bool {
	rest, ok := strings.CutPrefix(m.Name, family.Name)
	ofFamily := rest == "" || family.Form() != Single && slices.Contains([]string{"_bucket", "_sum", "_count"}, rest)
	return ok && ofFamily && m.Signal == family.Signal && slices.Equal(m.Where, family.Where)
}

// meanings returns the meanings of the declared series.
func (d *Declaration) meanings() []Meaning {
	all := make([]Meaning, len(d.Series))
	for i := range d.Series {
		all[i] = d.Series[i].meaning()
		all[i].Rank = d.RankLabel
	}
	return withPrefix(d.Prefix, all)
}

// signal returns the signal of the series, [NoSignal] if the file misspells it.
func (s *DeclaredSeries) signal() Signal { return SignalNamed(s.Signal) }

func (s *DeclaredSeries) meaning() Meaning {
	m := Meaning{
		Name:      s.Name,
		Signal:    s.signal(),
		Shift:     s.shift(),
		Unless:    slices.Concat(replacedBy(s.Unless...), inReleasesWithout(s.With...)),
		WhenEnded: s.WhenEnded,
		Outcome:   s.outcome(),
		Releases:  Releases{From: s.From, Before: s.Before, Decide: true},
		Combine:   s.combine(),
	}
	for _, w := range s.Where {
		m.Where = append(m.Where, w.match())
	}
	for _, ours := range slices.Sorted(maps.Keys(s.Labels)) {
		m.Dims = append(m.Dims, Dim{s.Labels[ours], ours})
	}
	return m
}

// combine returns how several series make up a value: if the file does not say, those that do not add up have that
// of the largest.
func (s *DeclaredSeries) combine() Combine {
	switch {
	case s.Combine == DeclaredMax, s.Combine == "" && !s.signal().Adds():
		return Max
	case s.Combine == DeclaredNewest:
		return Newest
	}
	return Sum
}

func (w *DeclaredMatch) match() Match {
	switch {
	case w.IsNot != nil:
		return Match{w.Label, *w.IsNot, Differs}
	case w.Begins != nil:
		return Match{w.Label, *w.Begins, StartsWith}
	case w.Is != nil:
		return Match{w.Label, *w.Is, Equals}
	}
	return Match{Label: w.Label}
}

// shift returns the decimal places of the factor, -1 if it is no power of ten.
func (s *DeclaredSeries) shift() int {
	for places := range maxShift + 1 {
		if power := math.Pow10(-places); math.Abs(s.factor()-power) < power/1e6 {
			return places
		}
	}
	return -1
}

func (s *DeclaredSeries) factor() float64 {
	if s.Factor == nil {
		return 1
	}
	return *s.Factor
}

// outcome returns how the requests of a counter ended. Labels of requests that finished say why unless the
// file does; without the label that should say it, nobody knows.
func (s *DeclaredSeries) outcome() *Outcome {
	switch {
	case !s.signal().ends():
		return nil
	case s.StatusCodes: // Nobody knows whether a client that leaves has a status.
		return &Outcome{Codes: true, Missed: []Class{ClassCanceled}}
	}
	o := &Outcome{Usual: cmp.Or(s.Class, ClassOK), Of: make(map[string]Class)}
	if s.Class == "" && s.Labels != nil {
		if s.Classes == nil {
			o = finished() // Whether failures are among them, the file does not say.
			o.Missed = append(o.Missed, ClassServer)
		}
		o.Of[""] = ClassUnknown
	}
	for reason, class := range s.Classes {
		o.Of[strings.ToLower(reason)] = class
	}
	if o.Usual == ClassOK {
		o.Missed = []Class{ClassCanceled, ClassOverload} // Nobody knows whether all of them count.
	}
	return o
}

// declaredAsk asks for the models and the version, as far as there are paths.
func declaredAsk(ctx context.Context, k *Kind, client Client, address string, _ Earlier) Round {
	return func(yield func(Facts, bool) bool) {
		var f Facts
		q := &questions{client: client, base: address}
		if k.versionPath != "" {
			f.EngineVersion = plainVersion(q.text(ctx, k.versionPath, k.versionKey))
		}
		if k.modelsPath != "" {
			q.askModelsAt(ctx, k.modelsPath, k.owners, &f)
		}
		f.Problems = q.problems
		yield(f, true)
	}
}

// declaredJudge judges what the series alone do not tell: outcomes.
func declaredJudge(name string, known *Knowledge) (c target.Check, ok bool) {
	p := known.Page
	if p == nil {
		return c, false
	}
	if name == CanOutcomes && declaredFailures(p) {
		return yes(p.seriesOf("and", RequestsFinished, RequestsFailed) + ", as the file of its kind says"), true
	}
	return c, false
}

// otherRelease judges a capability by series of a file that mean it in other releases, or in any if the version is
// unknown. It is false if others show it.
func (k *Kind) otherRelease(name string, known *Knowledge) (c target.Check, ok bool) {
	readings := known.Page.get().readings
	holds := func(s Signal) bool {
		return slices.ContainsFunc(readings, func(r reading) bool {
			return r.meaning.Signal == s && r.meaning.Holds(known.Version)
		})
	}
	for _, w := range waysTo(name) {
		if !slices.ContainsFunc(w, func(s Signal) bool { return !holds(s) }) {
			return c, false
		}
	}
	for _, w := range waysTo(name) {
		for _, r := range readings {
			m := &r.meaning.Meaning
			if slices.Contains(w, m.Signal) && (k.Declared || m.Added) && !m.Holds(known.Version) {
				return no(m.Name+" means this in "+m.Releases.String()+", and the version of the server is "+
					cmp.Or(known.Version, "unknown"), m.Releases.cure(known.Version)), true
			}
		}
	}
	return c, false
}

// cure says what would make a version one of the releases, empty if nothing does.
func (r Releases) cure(version string) string {
	switch {
	case releaseOf(version) == nil:
		return "engine_version in the pool, if the server does not tell it"
	case compare(version, r.From) < 0:
		return "release " + r.From + " or later"
	}
	return ""
}

// declaredLacking explains what a page lacks.
func declaredLacking(k *Kind, name string, known *Knowledge) target.Check {
	ways := declarableWays(name)
	switch {
	case name == CanLiveTokens && known.Page.Has(GenerationTokens):
		return no("its file says that tokens count when a request ends (when_ended)", "")
	case k.knows(name):
		early := awaits("the page has no series that its file declares for it; some appear with the first request")
		return early.on(known.Page)
	case name == CanOutcomes:
		return no("its file does not say which series count failed requests (requests_failed_total, classes or "+
			"status_codes)", "")
	case name == CanConfig:
		return no(hidesConfig, "")
	case len(ways) == 0:
		return no("its file declares no series for it", "")
	}
	return no("its file declares no series for it, such as of "+strings.Join(ways[0].words(), " and "), "")
}

// declarableWays returns the ways to a capability that a file can declare.
func declarableWays(name string) []way {
	return slices.DeleteFunc(slices.Clone(waysTo(name)), func(w way) bool {
		return slices.ContainsFunc(w, func(s Signal) bool { return !slices.Contains(DeclarableSignals(), s) })
	})
}

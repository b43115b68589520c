package draft

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/common/model"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// guess is what the series of one name may mean, and why. It is commented out if there is a doubt.
type guess struct {
	series     engine.DeclaredSeries
	why, doubt string
	// last is true if only the least telling words are there, so that any other guess of the signal is better.
	last bool
	// exact is true if the whole name is known, and not only its end.
	exact bool
	// relative is what the name means to the relative, nil if it is not one of its names.
	relative *engine.Meaning
}

// known is a name and what it means: one of a built-in kind without its prefix, or that of a signal.
type known struct {
	name, why string
	// kind has the name, empty for that of a signal.
	kind    engine.Name
	meaning engine.Meaning
	// factor turns its values into those of the signal, 0 if they are.
	factor float64
}

// knownNames returns the names that a file could declare, the longest first: those of signals, and of
// built-in kinds.
//
//nolint:gochecknoglobals // constant data, built on first use.
var knownNames = sync.OnceValue(func() (all []known) {
	all = ofSignals()
	for _, k := range copiedFirst() {
		for _, m := range k.Meanings() {
			ends := m.Signal == engine.RequestsFinished && len(m.Dims) > 0
			chooses := func(w engine.Match) bool { return w.Value != "" || w.Method != engine.Equals }
			selects := slices.ContainsFunc(m.Where, chooses) && !ends
			if m.Inside != "" || selects || m.Const != (engine.Label{}) || m.Signal == engine.RequestsFailed ||
				!slices.Contains(engine.DeclarableSignals(), m.Signal) {
				continue
			}
			all = append(all, known{short(m.Name), fmt.Sprintf("its name ends like %s of %s", m.Name, k.Name), k.Name, m, 0})
		}
	}
	slices.SortStableFunc(all, func(a, b known) int { return len(b.name) - len(a.name) })
	return all
})

// ofSignals returns the names of the signals, also with other units at their end.
func ofSignals() (all []known) {
	for _, signal := range engine.DeclarableSignals() {
		m := engine.Meaning{Signal: signal}
		why := "its name ends like that of the signal"
		all = append(all, known{signal.String(), why, "", m, 0})
		if base, ok := strings.CutSuffix(signal.String(), "_seconds"); ok {
			for unit, factor := range map[string]float64{"_ms": 1e-3, "_milliseconds": 1e-3, "_us": 1e-6} {
				all = append(all, known{base + unit, why + ", in seconds", "", m, factor})
			}
		}
	}
	return all
}

// short returns a name of a built-in kind without the longest beginning by which pages are recognised.
func short(name string) string {
	longest := 0
	for _, k := range engine.All() {
		for _, mark := range k.Marks() {
			ends := strings.HasSuffix(mark, "_") || strings.HasSuffix(mark, ":") // Others are parts of a word.
			if ends && strings.HasPrefix(name, mark) {
				longest = max(longest, len(mark))
			}
		}
	}
	return name[longest:]
}

// guess adds a guess for each family that has one: those that are certain first.
func (d *draft) guess(families []family) {
	d.relative = d.relativeOf(families)
	counter := func(f family) bool { return f.typ == model.MetricTypeCounter }
	d.countless = !slices.ContainsFunc(families, counter)
	var all []guess
	for i := range families {
		f := &families[i]
		d.noteLabels(f)
		var g guess
		ok := strings.HasPrefix(f.name, d.prefix)
		if ok {
			g, ok = d.byEnd(f)
		}
		if !ok && strings.HasPrefix(f.name, d.prefix) {
			g, ok = d.byWords(f)
		}
		if !ok {
			d.rest = append(d.rest, f.name)
			continue
		}
		all = append(all, g)
	}
	slices.SortStableFunc(all, func(a, b guess) int { return rank(&a) - rank(&b) })
	for _, g := range all {
		other := func(o guess) bool { return !o.last && o.series.Signal == g.series.Signal }
		if g.last && slices.ContainsFunc(all, other) {
			d.rest = append(d.rest, d.prefix+g.series.Name)
			continue
		}
		d.add(g)
	}
	slices.Sort(d.rest)
	slices.SortStableFunc(d.guesses, func(a, b guess) int { return rank(&a)/2 - rank(&b)/2 })
}

// rank orders guesses by how sure they are.
func rank(g *guess) int {
	switch {
	case g.doubt == "" && g.exact:
		return 0
	case g.doubt == "":
		return 1
	}
	return 2
}

// add adds a guess, doubtful if another has its signal, or if no file may say so.
func (d *draft) add(g guess) {
	same := func(o guess) bool {
		return o.doubt == "" && o.series.Signal == g.series.Signal && !addsUp(o.relative, g.relative)
	}
	if i := slices.IndexFunc(d.guesses, same); g.doubt == "" && i >= 0 {
		g.doubt = d.guesses[i].series.Name + " may be the same number"
	}
	if g.doubt == "" {
		if err := d.declare(g.series); err != nil {
			_, reason, _ := strings.Cut(err.Error(), ": ")
			g.doubt, _, _ = strings.Cut(reason, "\n")
		}
	}
	d.guesses = append(d.guesses, g)
}

// addsUp reports whether the relative adds up series of two names, neither of which takes the place of the other.
func addsUp(a, b *engine.Meaning) bool {
	if a == nil || b == nil || a.Combine != engine.Sum || b.Combine != engine.Sum {
		return false
	}
	replaced := func(m, by *engine.Meaning) bool {
		return slices.ContainsFunc(m.Unless, func(e engine.Exception) bool { return e.Name == by.Name })
	}
	return a.Signal.Adds() && !replaced(a, b) && !replaced(b, a)
}

// noteLabels notes labels that may name a model or a rank.
func (d *draft) noteLabels(f *family) {
	for _, label := range slices.Sorted(maps.Keys(f.values)) {
		switch {
		case label == "model" || label == "model_name":
		case strings.Contains(strings.ToLower(label), "model") && !slices.Contains(d.labels, label):
			d.labels = append(d.labels, label)
		case mayBeRank(label) && !slices.Contains(d.ranks, label):
			d.ranks = append(d.ranks, label)
		}
	}
}

// rankLabels are the labels in which built-in kinds have data-parallel ranks.
//
//nolint:gochecknoglobals // constant data, built on first use.
var rankLabels = sync.OnceValue(func() (all []string) {
	for _, k := range engine.All() {
		for _, m := range k.Meanings() {
			if m.Rank != "" && !slices.Contains(all, m.Rank) {
				all = append(all, m.Rank)
			}
		}
	}
	return all
})

// mayBeRank reports whether a label may name data-parallel ranks, each of which has its own requests.
func mayBeRank(label string) bool {
	lower := strings.ToLower(label)
	return slices.Contains(rankLabels(), label) || strings.Contains(lower, "rank") || strings.Contains(lower, "worker")
}

// reasonLabel returns the label that says by its name how requests ended, empty without one.
func reasonLabel(f *family) string {
	for _, word := range []string{"reason", "status"} {
		for _, label := range slices.Sorted(maps.Keys(f.values)) {
			if slices.Contains(words(label), word) {
				return label
			}
		}
	}
	return ""
}

// relativeOf returns the built-in kind that has most of the names, if that are many: a fork, or a server that
// took its names over, means by them what it does.
func (d *draft) relativeOf(families []family) engine.Name {
	const many = 5
	best, most := engine.Name(""), many-1
	for _, kind := range copiedFirst() {
		n := 0
		for _, f := range families {
			names := []string{d.own(f.name), d.own(f.name) + "_count"}
			has := func(k known) bool { return k.kind == kind.Name && slices.Contains(names, k.name) }
			if slices.ContainsFunc(knownNames(), has) {
				n++
			}
		}
		if n > most {
			best, most = kind.Name, n
		}
	}
	return best
}

// copiedFirst returns the built-in kinds, beginning with those whose names most others took over.
func copiedFirst() []*engine.Kind {
	kinds := engine.All()
	slices.SortStableFunc(kinds, func(a, b *engine.Kind) int { return b.Copied - a.Copied })
	return kinds
}

// own returns a name without the prefix.
func (d *draft) own(name string) string { return strings.TrimPrefix(name, d.prefix) }

// byEnd guesses by the end of a name, which is a whole name of a built-in kind: first of the one that is
// most like the server.
func (d *draft) byEnd(f *family) (g guess, ok bool) {
	all := knownNames()
	for _, relatives := range []bool{true, false} {
		for i := range all {
			if (all[i].kind == d.relative) != relatives {
				continue
			}
			if g, ok = d.endsAs(f, &all[i]); ok {
				return g, true
			}
		}
	}
	return g, false
}

// endsAs guesses that a family means what a known name does, which it ends like or, of the relative, is.
func (d *draft) endsAs(f *family, k *known) (g guess, ok bool) {
	isRelative := k.kind == d.relative
	for _, suffix := range []string{"", "_count", "_sum"} {
		if suffix != "" && f.typ != model.MetricTypeHistogram && f.typ != model.MetricTypeSummary {
			continue
		}
		name := f.name + suffix
		exact := d.own(name) == k.name
		if !exact && (isRelative || !endsLike(name, k.name)) {
			continue
		}
		g = guess{series: d.seriesOf(name, f, &k.meaning), why: k.why, exact: exact}
		if k.factor != 0 {
			g.series.Factor = &k.factor
		}
		g.doubt = cmp.Or(typeDoubt(f, suffix, k.meaning.Signal), labelDoubt(f, &g.series), releaseDoubt(k))
		switch {
		case isRelative:
			g.relative = &k.meaning
		case g.doubt == "":
			g.doubt = otherMeaning(k)
		}
		return g, true
	}
	return g, false
}

// releaseDoubt says that a name means what it does in some releases of a server only, empty if it always does.
func releaseDoubt(k *known) string {
	if !k.meaning.Releases.Decide {
		return ""
	}
	return "that is so in " + k.meaning.Releases.String() + " only"
}

// endsLike reports whether a name ends with a known one of two words at least.
func endsLike(name, end string) bool {
	begin, ok := strings.CutSuffix(name, end)
	return ok && strings.Contains(end, "_") && (strings.HasSuffix(begin, "_") || strings.HasSuffix(begin, ":"))
}

// otherMeaning says that a name means something else to another kind, empty if it does not.
func otherMeaning(k *known) string {
	for _, other := range knownNames() {
		if other.name == k.name && other.meaning.Signal != k.meaning.Signal {
			return fmt.Sprintf("%s, which is %s", other.why, other.meaning.Signal)
		}
	}
	return ""
}

// seriesOf returns the series of a name with a meaning that another kind has.
func (d *draft) seriesOf(name string, f *family, m *engine.Meaning) engine.DeclaredSeries {
	s := engine.DeclaredSeries{
		Name:      d.own(name),
		Signal:    m.Signal.String(),
		WhenEnded: m.WhenEnded,
	}
	if factor := Factor(name, m); factor != 0 {
		s.Factor = &factor
	}
	if m.Combine == engine.Max {
		s.Combine = engine.DeclaredMax
	}
	if m.Signal == engine.RequestsFinished {
		if label := reasonLabel(f); label != "" {
			s.Labels = map[string]string{"finish_reason": label}
		}
	}
	return s
}

// Factor returns the factor that the end of a name tells, 0 for none.
func Factor(name string, m *engine.Meaning) float64 {
	timed := strings.HasSuffix(m.Signal.String(), "_seconds")
	switch all := words(name); {
	case len(all) == 0:
		return 0
	case all[len(all)-1] == "percent" && m.Signal.IsShare():
		return 0.01
	case !timed:
		return 0
	default:
		return map[string]float64{
			"ms": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "microseconds": 1e-6, "ns": 1e-9, "nanoseconds": 1e-9,
		}[all[len(all)-1]]
	}
}

// typeDoubt compares the type that the page declares with that of a signal.
func typeDoubt(f *family, suffix string, signal engine.Signal) string {
	want, got := typeOf(signal), string(f.typ)
	switch {
	case suffix != "" && want == string(model.MetricTypeCounter):
		return "" // Sums and counts only grow.
	case f.typ == "" || f.typ == model.MetricTypeUnknown:
		return "the page declares no type, and it must be a " + want
	case f.typ == model.MetricTypeSummary && want == string(model.MetricTypeHistogram):
		return "the page declares a summary, of which only means are read"
	case got != want:
		return fmt.Sprintf("the page declares a %s, and it must be a %s", got, want)
	}
	return ""
}

// typeOf returns the type of the series of a signal.
func typeOf(signal engine.Signal) string {
	switch t := signal.Type(); {
	case t.Form == engine.Histogram:
		return string(model.MetricTypeHistogram)
	case t.Counter:
		return string(model.MetricTypeCounter)
	}
	return string(model.MetricTypeGauge)
}

// labelDoubt looks for labels whose series would be added up, and for values that do not fit.
func labelDoubt(f *family, s *engine.DeclaredSeries) string {
	for _, label := range slices.Sorted(maps.Keys(f.values)) {
		several := len(f.values[label]) > 1
		expected := label == "model" || label == "model_name" || label == s.Labels["finish_reason"] || mayBeRank(label)
		if several && !expected {
			return fmt.Sprintf("label %s has %d values, whose series would add up", label, len(f.values[label]))
		}
	}
	if strings.HasSuffix(s.Signal, "_ratio") && s.Factor == nil && f.largest > 1 {
		return fmt.Sprintf("it is %g now, and a ratio is at most 1: factor: 0.01 if these are percent", f.largest)
	}
	return ""
}

// hint is a signal that words in a name may mean: one of each set.
type hint struct {
	signal engine.Signal
	words  [][]string
	// last is true of words that mean the signal only if nothing else does.
	last bool
}

// hints returns what words may mean, the more telling first.
func hints() []hint {
	one := func(words ...string) []string { return words }
	timed, blocks := one("duration", "time", "seconds", "latency"), one("block", "blocks", "page", "pages")
	return []hint{
		{signal: engine.FirstToken, words: [][]string{one("first", "ttft"), one("token", "ttft")}},
		{signal: engine.InterToken, words: [][]string{one("inter", "itl", "between"), one("token", "tokens", "itl")}},
		{signal: engine.OutputToken, words: [][]string{
			one("per", "tpot"), one("token", "tpot"), one("time", "latency", "duration", "tpot"),
		}},
		{signal: engine.RequestQueue, words: [][]string{one("queue", "waiting", "queued"), timed}},
		{signal: engine.RequestPrefill, words: [][]string{one("prefill", "prompt"), timed}},
		{signal: engine.RequestDecode, words: [][]string{one("decode", "generation"), timed}},
		{signal: engine.RequestInference, words: [][]string{one("inference", "predict"), timed}},
		{signal: engine.RequestDuration, words: [][]string{
			one("request", "e2e", "requests", "process", "processing"), one("duration", "latency", "time"),
		}},
		{signal: engine.RequestPromptTokens, words: [][]string{one("prompt", "input"), one("tokens", "length")}},
		{signal: engine.RequestOutputTokens, words: [][]string{
			one("generated", "generation", "output", "completion"), one("tokens", "length"),
		}},
		{signal: engine.CachedTokens, words: [][]string{one("cached", "hit", "hits"), one("tokens")}},
		{signal: engine.PromptTokens, words: [][]string{one("prompt", "input", "prefill"), one("tokens", "token")}},
		{signal: engine.GenerationTokens, words: [][]string{
			one("generated", "generation", "predicted", "output", "completion"), one("tokens", "token"),
		}},
		{signal: engine.GenerationTokens, words: [][]string{one("tokens")}, last: true},
		{signal: engine.Preemptions, words: [][]string{one("preemptions", "preempted", "preemption")}},
		{signal: engine.RequestsRejected, words: [][]string{one("rejected", "rejections")}},
		{signal: engine.RequestsFailed, words: [][]string{one("fail", "failure", "failures", "failed", "errors", "error")}},
		{signal: engine.RequestsFinished, words: [][]string{one("success", "finished", "completed", "succeeded")}},
		{signal: engine.RequestsStarted, words: [][]string{
			one("request", "requests"), one("count", "received", "started", "total"),
		}},
		{signal: engine.EngineIterations, words: [][]string{
			one("decode", "iteration", "iterations", "step", "steps", "forward", "batches"),
		}},
		{signal: engine.KVBlocksUsed, words: [][]string{blocks, one("used")}},
		{signal: engine.KVBlocksFree, words: [][]string{blocks, one("free", "available")}},
		{signal: engine.KVBlocksLimit, words: [][]string{blocks, one("total", "max", "capacity")}},
		{signal: engine.KVHitRatio, words: [][]string{one("hit", "hits"), one("rate", "ratio", "percent")}},
		{signal: engine.KVUtilization, words: [][]string{
			one("cache", "kv"), one("usage", "utilization", "ratio", "perc", "percent", "used"),
		}},
		{signal: engine.GPUUtilization, words: [][]string{one("gpu"), one("utilization", "util", "usage")}},
		{signal: engine.BatchLimit, words: [][]string{one("max", "limit"), one("batch")}},
		{signal: engine.RequestsLimit, words: [][]string{one("max", "limit"), one("requests", "running", "concurrency")}},
		{signal: engine.RequestsWaiting, words: [][]string{
			one("waiting", "awaiting", "queue", "queued", "deferred", "pending"),
		}},
		{signal: engine.RequestsRunning, words: [][]string{one("running", "processing", "active", "batch")}},
		{signal: engine.RequestsActive, words: [][]string{one("remaining", "inflight", "flight", "progress", "ongoing")}},
		{signal: engine.RequestsActive, words: [][]string{one("current"), one("requests")}},
	}
}

// otherUnit reports whether words say that something else is counted: a time and no tokens, tokens and no requests, or
// what could run and does not.
func otherUnit(signal engine.Signal, have []string) bool {
	var unit []string
	switch {
	case signal == engine.RequestsRunning:
		unit = []string{"available", "free", "max", "limit", "token", "tokens", "block", "blocks", "page", "pages"}
	case signal == engine.GPUUtilization:
		unit = []string{"memory", "cache", "bytes"}
	case strings.HasPrefix(signal.String(), "requests_"), signal == engine.BatchLimit:
		unit = []string{"token", "tokens", "block", "blocks", "page", "pages"}
	case strings.HasSuffix(signal.String(), "_tokens_total"):
		unit = []string{"seconds", "time", "duration", "max", "evicted"}
	}
	return slices.ContainsFunc(have, func(w string) bool { return slices.Contains(unit, w) })
}

// statusLabel returns the label all of whose values are HTTP statuses, empty without one.
func statusLabel(f *family) string {
	isStatus := regexp.MustCompile(`^[1-5]\d\d$`).MatchString
	for _, label := range slices.Sorted(maps.Keys(f.values)) {
		if !slices.ContainsFunc(slices.Collect(maps.Keys(f.values[label])), func(v string) bool { return !isStatus(v) }) {
			return label
		}
	}
	return ""
}

// byStatus guesses that what is counted by HTTP status are requests.
func (d *draft) byStatus(f *family) (g guess, ok bool) {
	label := statusLabel(f)
	if label == "" || f.typ != model.MetricTypeCounter && !strings.HasSuffix(f.name, "_total") {
		return g, false
	}
	g = guess{
		series: d.seriesOf(f.name, f, &engine.Meaning{Signal: engine.RequestsFinished}),
		why:    "its label " + label + " has HTTP statuses",
		doubt:  "are these requests to the model, each counted when it ends?",
	}
	g.series.Labels, g.series.StatusCodes = map[string]string{"finish_reason": label}, true
	return g, true
}

// mayBe reports whether a family may be of the type of a signal: it declares it, or a summary for a histogram, or
// a gauge on a page that declares no counters, as some libraries do.
func (d *draft) mayBe(f *family, signal engine.Signal) bool {
	switch want := typeOf(signal); string(f.typ) {
	case want:
		return true
	case string(model.MetricTypeSummary):
		return want == string(model.MetricTypeHistogram)
	case string(model.MetricTypeGauge):
		return d.countless && want == string(model.MetricTypeCounter)
	}
	return false
}

// byWords guesses by the words of a name, or by what its labels tell. That is always doubtful.
func (d *draft) byWords(f *family) (g guess, ok bool) {
	if g, ok = d.byStatus(f); ok {
		return g, true
	}
	have := words(d.own(f.name))
	for _, h := range hints() {
		found := make([]string, 0, len(h.words))
		for _, set := range h.words {
			if i := slices.IndexFunc(set, func(w string) bool { return slices.Contains(have, w) }); i >= 0 {
				found = append(found, set[i])
			}
		}
		if len(found) < len(h.words) || !d.mayBe(f, h.signal) || otherUnit(h.signal, have) {
			continue
		}
		g = guess{
			series: d.seriesOf(f.name, f, &engine.Meaning{Signal: h.signal}),
			last:   h.last,
			why:    "it is a " + string(f.typ) + ", and its name has " + strings.Join(slices.Compact(found), " and "),
		}
		g.doubt = cmp.Or(labelDoubt(f, &g.series), typeDoubt(f, "", h.signal), "no server that is known has such a name")
		if h.signal == engine.RequestsFailed {
			g.series.Class = engine.ClassServer
			g.doubt = "who is to blame for these requests, the server or its clients?"
		}
		return g, true
	}
	return g, false
}

package engine

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
)

// Detection is what was detected at an address.
type Detection struct {
	Kind Name
	// Path is the path of the kind's page.
	Path string
	// Evidence explains to users how the kind was detected, empty if it was not.
	Evidence string
	// Companion names a program that is not an LLM server; Kind is then Unknown. Within is the kind of
	// server that has such a program inside and may show the same, empty if none does.
	Companion string
	Within    Name
	// Provisional is true if another kind shows the same page and its API did not answer.
	Provisional bool
	// Answers is true if Kind is Unknown and the server answered some request, even with an error of the
	// client's; gateways answer with other errors instead of their server.
	Answers bool
}

// mark is a text that identifies the kind of server on its page.
type mark struct {
	// text is the prefix of a name, or any part of the page.
	text     string
	anywhere bool
	// declared is true if a family without samples suffices. It does not for kinds of servers: other
	// programs declare families of a server that they do not have yet.
	declared bool
	// also is what else the page must show, nil if nothing, and says describes both to users.
	also func(body []byte) bool
	says string
	// within is the kind of server that shows the mark of a companion too, since it has such a program
	// inside. The operator's word then decides.
	within Name
	// weight decides between kinds. Programs that pass on the series of others weigh more.
	weight int
}

// on reports whether a page has the mark.
func (m *mark) on(body []byte) bool {
	shown := m.anywhere && bytes.Contains(body, []byte(m.text)) ||
		!m.anywhere && beginsLine(body, m.text) ||
		m.declared && beginsLine(body, "# TYPE "+m.text)
	return shown && (m.also == nil || m.also(body))
}

// onSeries reports whether a series has the mark: the beginning of its name, or its name with a label.
func (m *mark) onSeries(lset labels.Labels) bool {
	name, label, labeled := strings.Cut(strings.TrimSuffix(m.text, "="), "{")
	if labeled {
		return lset.Get(model.MetricNameLabel) == name && lset.Has(label)
	}
	return strings.HasPrefix(lset.Get(model.MetricNameLabel), name)
}

// beginsLine reports whether any line begins with a text.
func beginsLine(body []byte, text string) bool {
	return bytes.HasPrefix(body, []byte(text)) || bytes.Contains(body, []byte("\n"+text))
}

// evidence describes the mark to users.
func (m *mark) evidence() string {
	switch {
	case m.says != "":
		return m.says
	case m.anywhere:
		return "the page has " + strings.TrimLeft(m.text, "{,")
	}
	return "the page has names that begin with " + m.text
}

// FromPage detects the kind of server by the heaviest mark on its page. Marks of a declared kind count
// only on a page without those of a built-in kind or a companion.
func (ks *Kinds) FromPage(body []byte) Detection {
	found, weight := Detection{Kind: Unknown}, 0
	weigh := func(candidate Detection, marks []mark) {
		for _, m := range marks {
			if m.weight > weight && m.on(body) {
				found, weight = candidate, m.weight
				found.Evidence, found.Within = m.evidence(), m.within
			}
		}
	}
	for _, e := range All() {
		weigh(Detection{Kind: e.Name, Path: e.Path}, e.marks)
	}
	for _, c := range companions() {
		weigh(Detection{Kind: Unknown, Path: None().Path, Companion: c.name}, c.marks)
	}
	if weight > 0 {
		return found
	}
	for _, e := range ks.declaredKinds() {
		weigh(Detection{Kind: e.Name, Path: e.Path}, e.marks)
	}
	return found
}

// Recognize detects the kind by the page, and by the API if several kinds show that page.
func (ks *Kinds) Recognize(ctx context.Context, client Client, address string, body []byte) Detection {
	return ks.recognize(ctx, &questions{client: memoize(client), base: address}, body)
}

func (ks *Kinds) recognize(ctx context.Context, q *questions, body []byte) Detection {
	found := ks.FromPage(body)
	if e, evidence := around(ctx, q, found.Kind); e != nil {
		return Detection{Kind: e.Name, Path: e.Path, Evidence: found.Evidence + "; " + evidence}
	}
	found.Provisional = slices.ContainsFunc(q.problems, func(p Problem) bool { return p.Unanswered })
	return found
}

// around returns the kind that shows the page of another one, with the evidence of its API, nil if there is none.
func around(ctx context.Context, q *questions, inside Name) (e *Kind, evidence string) {
	for _, e := range All() {
		if !slices.Contains(e.pagesOf, inside) {
			continue
		}
		if evidence := e.evidence(ctx, q); evidence != "" {
			return e, evidence
		}
	}
	return nil, ""
}

// Shows reports whether a kind may show the page of another one, as NIM shows that of the engine inside.
func Shows(kind, page Name) bool {
	e, ok := ByName(string(kind))
	return kind == page || ok && slices.Contains(e.pagesOf, page)
}

// pageLimit limits a page that is read only for detection, in bytes.
const pageLimit = 16 << 20

// Detect detects the kind of a server and the path of its page, given scheme, host and port: by
// its pages, if pages is true, or else by answers that only one kind gives. A status of 200 proves
// nothing, since some servers answer every path with it. A kind without marks can be identified
// only together with its page.
//
// A server, or what stands before it, may let requests for paths that it does not know hang. So each guess
// is waited for only for a share of the time, and goes on while the next ones are made. All together may
// take half of the remaining time, as the page has to be requested afterwards.
func (ks *Kinds) Detect(ctx context.Context, client Client, address string, pages bool) Detection {
	ctx, cancel := share(ctx, 2)
	defer cancel()
	sent, end := memoizeBeside(ctx, client)
	defer end()
	d := detection{kinds: ks, memo: sent, q: &questions{client: sent, base: address}}
	first := func(a, b *Kind) int { return cmp.Compare(b.priority, a.priority) }
	for _, e := range slices.SortedStableFunc(slices.Values(ks.All()), first) {
		if pages && !slices.Contains(d.paths, e.Path) {
			d.paths = append(d.paths, e.Path)
			if found := d.byPage(ctx, e.Path); found.Kind != Unknown || found.Companion != "" {
				return found
			}
		}
		if d.hangs {
			d.unasked = append(d.unasked, e) // The pages come first.
		} else if found := d.byAPI(ctx, e); found.Kind != Unknown {
			return found
		}
	}
	found := d.late(ctx)
	found.Answers = found.Kind == Unknown && d.memo.answered()
	return found
}

// guessShare is the share of the remaining time that the next guess waits for one.
const guessShare = 6

// detection is one run of [Kinds.Detect].
type detection struct {
	kinds *Kinds
	memo  *memo
	q     *questions
	// paths are those that were guessed. Hangs is true once a guess was not answered in its time; unasked
	// are the kinds whose API was not asked since.
	paths   []string
	hangs   bool
	unasked []*Kind
}

// share returns a context for one in n of the remaining time.
func share(ctx context.Context, n time.Duration) (context.Context, context.CancelFunc) {
	deadline, ok := ctx.Deadline()
	if !ok {
		return context.WithCancel(ctx)
	}
	return context.WithTimeout(ctx, time.Until(deadline)/n)
}

func (d *detection) byPage(ctx context.Context, at string) Detection {
	patience, cancel := share(ctx, guessShare)
	defer cancel()
	page, _ := pageAt(patience, d.memo, d.q.base+at)
	d.hangs = d.hangs || patience.Err() != nil
	if page == nil {
		return Detection{Kind: Unknown}
	}
	patience, cancel = share(ctx, guessShare)
	defer cancel()
	found := d.kinds.recognize(patience, &questions{client: d.memo, base: d.q.base}, page)
	if at != found.Path+"/" { // Some servers answer either.
		found.Path = at
	}
	return found
}

func (d *detection) byAPI(ctx context.Context, e *Kind) (found Detection) {
	found.Kind = Unknown
	if len(e.marks) == 0 {
		return found
	}
	patience, cancel := share(ctx, guessShare)
	defer cancel()
	evidence := e.evidence(patience, d.q)
	d.hangs = d.hangs || patience.Err() != nil
	if evidence == "" {
		return found
	}
	if other, also := around(patience, d.q, e.Name); other != nil { // It passes on the API of e, too.
		return Detection{Kind: other.Name, Path: other.Path, Evidence: evidence + "; " + also}
	}
	if page, _ := pageAt(ctx, d.memo, d.q.base+e.Path); len(e.owners) == 0 || e.unmistakable || bare(e, page) {
		return Detection{Kind: e.Name, Path: e.Path, Evidence: evidence}
	}
	return found
}

// late detects the server by what has come since it was first waited for, and by what was not asked.
func (d *detection) late(ctx context.Context) (found Detection) {
	found.Kind = Unknown
	if !d.hangs {
		return found
	}
	for came := true; came; came = d.memo.next(ctx) {
		for _, at := range d.paths {
			if !d.memo.came(http.MethodGet + d.q.base + at) {
				continue
			}
			if found := d.byPage(ctx, at); found.Kind != Unknown || found.Companion != "" {
				return found
			}
		}
	}
	for _, e := range d.unasked {
		if found := d.byAPI(ctx, e); found.Kind != Unknown {
			return found
		}
	}
	return found
}

// bare reports whether a page has no names but those that the libraries of any program add, or
// declarations of the kind if it has no samples before its first request. An owner of models proves
// little: a router lists the models of the servers behind it, and a server made of another one may
// keep its owner. What is on their pages tells them apart.
func bare(e *Kind, page []byte) bool {
	own := func(name string) bool {
		begins := func(m mark) bool { return strings.HasPrefix(name, m.text) }
		return e.EmptyPage && slices.ContainsFunc(e.marks, begins)
	}
	for line := range bytes.Lines(page) {
		words := strings.Fields(string(line[:min(len(line), nameLimit)]))
		declares := len(words) > 2 && words[0] == "#" && (words[1] == "TYPE" || words[1] == "HELP")
		switch {
		case declares && own(words[2]):
		case declares && !ofLibrary(words[2]):
			return false
		case len(words) > 0 && words[0][0] != '#' && !ofLibrary(words[0]):
			return false
		}
	}
	return true
}

// nameLimit is how much of a line is read for the name of its family, in bytes.
const nameLimit = 256

// ofLibrary reports whether a name is one that client libraries and HTTP frameworks add.
func ofLibrary(name string) bool {
	return strings.HasPrefix(name, "python_") || strings.HasPrefix(name, "process_") || strings.HasPrefix(name, "http_")
}

// pageAt returns the body at a URL. It reports false unless the status is 200.
func pageAt(ctx context.Context, client Client, url string) ([]byte, bool) {
	status, _, body, err := client.Do(ctx, http.MethodGet, url, nil, pageLimit)
	if err != nil || status != http.StatusOK {
		return nil, false
	}
	return body, true
}

// hasPage reports whether an API has a page of its kind at the same address.
func hasPage(ctx context.Context, client Client, e *Kind, address string) bool {
	body, ok := pageAt(ctx, client, address+e.Path)
	marked := slices.ContainsFunc(e.marks, func(m mark) bool { return m.on(body) })
	return ok && (marked || Shows(e.Name, BuiltIn().FromPage(body).Kind))
}

// Hint explains to users what an address without a known page may be. It is empty if unknown.
func Hint(ctx context.Context, client Client, address string) string {
	for _, e := range All() {
		if e.hint == nil {
			continue
		}
		if hint := e.hint(ctx, &questions{client: client, base: address}); hint != "" {
			return hint
		}
	}
	return ""
}

// FromEmptyPage detects the only kind that may have an empty page at the path, unless the server
// answers all paths alike.
func FromEmptyPage(ctx context.Context, client Client, address, page string) Detection {
	found := Detection{Kind: Unknown}
	q := &questions{client: client, base: address}
	if _, ok := pageAt(ctx, client, address+versionPath); ok && q.version(ctx) == "" {
		return found
	}
	empty := slices.DeleteFunc(
		All(),
		func(e *Kind) bool { return strings.TrimSuffix(page, "/") != e.Path || !e.EmptyPage },
	)
	if len(empty) == 1 {
		found = Detection{Kind: empty[0].Name, Path: page, Evidence: "a page without samples is at " + page}
	}
	return found
}

// BasePath returns the path below which a server has page and API, given the path of the page:
// empty at the root. For an unknown kind, page may be the page of any kind.
func BasePath(e *Kind, page string) string {
	page = strings.TrimSuffix(page, "/")
	paths := []string{strings.TrimSuffix(e.Path, "/")}
	if e.Name == Unknown {
		for _, kind := range All() {
			paths = append(paths, kind.Path)
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) })
	for _, suffix := range paths {
		if base, ok := strings.CutSuffix(page, suffix); ok {
			return base
		}
	}
	if page == "" {
		return ""
	}
	return strings.TrimSuffix(path.Dir(page), "/")
}

// memo is a client that sends each request once.
type memo struct {
	Client

	// life, unless it is nil, bounds the requests, which then go on when nobody waits for them any more.
	life    context.Context //nolint:containedctx // See above.
	running sync.WaitGroup
	// pending counts the requests without an answer, and arrival has room for the news of one.
	pending atomic.Int32
	arrival chan struct{}
	answers map[string]*memorized
}

// memorized is an answer, which has come once done is closed.
type memorized struct {
	done   chan struct{}
	status int
	header http.Header
	text   []byte
	err    error
}

// memoize returns a client that sends each request once, regardless of its body.
func memoize(client Client) Client {
	return &memo{Client: client, answers: make(map[string]*memorized)}
}

// memoizeBeside is memoize, but requests go on beside each other until end is called.
func memoizeBeside(ctx context.Context, client Client) (m *memo, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	m = &memo{
		Client:  client,
		life:    ctx,
		arrival: make(chan struct{}, 1),
		answers: make(map[string]*memorized),
	}
	return m, func() {
		cancel()
		m.running.Wait()
	}
}

func (m *memo) Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error) {
	key := method + url
	a := m.answers[key]
	if a == nil {
		a = &memorized{done: make(chan struct{})}
		m.answers[key] = a
		ask := func(ctx context.Context) {
			defer close(a.done)
			a.status, a.header, a.text, a.err = m.Client.Do(ctx, method, url, body, limit)
		}
		if m.life == nil {
			ask(ctx)
		} else {
			m.pending.Add(1)
			m.running.Go(func() {
				ask(m.life)
				select {
				case m.arrival <- struct{}{}:
				default:
				}
				m.pending.Add(-1)
			})
		}
	}
	select {
	case <-a.done:
	case <-ctx.Done():
		return 0, nil, nil, ctx.Err()
	}
	return a.status, a.header, a.text, a.err
}

// came reports whether a request was answered.
func (m *memo) came(key string) bool {
	a := m.answers[key]
	if a == nil {
		return false
	}
	select {
	case <-a.done:
		return true
	default:
		return false
	}
}

// answered reports whether a request was answered with less than a failure of the server.
func (m *memo) answered() bool {
	for key, a := range m.answers {
		if m.came(key) && a.status > 0 && a.status < http.StatusInternalServerError {
			return true
		}
	}
	return false
}

// next waits for news of an answer. It reports false if none can come any more.
func (m *memo) next(ctx context.Context) bool {
	waits := m.pending.Load() > 0
	select {
	case <-m.arrival:
		return true
	default:
	}
	if !waits {
		return false
	}
	select {
	case <-m.arrival:
		return true
	case <-ctx.Done():
		return false
	}
}

// companion is a program that may be mistaken for an LLM server. Nothing is derived from it.
type companion struct {
	name  string
	marks []mark
}

// companions returns the known companions. If a page also has marks of a server, the companion's
// marks weigh more, except than those of a server that has it inside (production-stack,
// services/metrics_service; smg, docs/reference/metrics.md; llm-d-router and the gateway API inference
// extension, pkg/epp/metrics; ai-dynamo, planner, router and kvbm; nixl, src/core/telemetry).
func companions() []companion {
	const relay, router, alone = 12, 10, 1
	prefixes := func(weight int, names ...string) (marks []mark) {
		for _, name := range names {
			marks = append(marks, mark{text: name, weight: weight, declared: true})
		}
		return marks
	}
	return []companion{
		{
			"the router of vLLM's production stack",
			append(prefixes(router, "vllm:healthy_pods_total", "router_cpu_usage_percent"),
				mark{text: `vllm:num_requests_running{server="`, anywhere: true, weight: router}),
		},
		{
			"the router smg, or that of SGLang it comes from",
			append(prefixes(router, "smg_", "sgl_router_"), mark{
				text:     `worker_addr="`,
				anywhere: true,
				weight:   router,
			}),
		},
		{"vllm-router", prefixes(router, "vllm_router_")},
		{
			"the endpoint picker of an inference gateway",
			prefixes(
				router,
				"llm_d_epp_",
				"llm_d_router_epp_",
				"inference_pool_",
				"inference_objective_",
				"inference_model_",
				"inference_extension_",
			),
		},
		{"another trtllm_exporter", prefixes(relay, "trtllm_exporter_")}, // It passes on any page.
		{"a program that passes on the pages of several servers", []mark{{
			text:     `instance="`,
			anywhere: true,
			also:     showsInstances,
			says:     "series of a server differ in label instance",
			weight:   relay,
		}}},
		{"Dynamo's planner", prefixes(router, "dynamo_planner_", "planner:")},
		{
			"a router of Dynamo",
			[]mark{
				{text: `dynamo_component="router"`, anywhere: true, weight: router},
				{text: "dynamo_component_router_", declared: true, weight: router, within: Dynamo},
			},
		},
		{"Dynamo's manager of KV blocks, kvbm", prefixes(alone, "kvbm_")},
		{"the exporter of NIXL", prefixes(alone, "agent_xfer_time", "agent_xfer_post_time")},
	}
}

// showsInstances reports whether a page has a series of a built-in kind of server for more than one value of label
// instance, which Prometheus and collectors of OpenTelemetry add. Custom metrics may have a label of that name.
func showsInstances(body []byte) bool {
	first := make(map[string]string)
	for line := range bytes.Lines(body) {
		name, rest, labeled := strings.Cut(string(line), "{")
		instance, has := labelValue(rest, "instance")
		if !labeled || !has || !slices.ContainsFunc(All(), func(k *Kind) bool { return k.named(name) }) {
			continue
		}
		if before, seen := first[name]; seen && before != instance {
			return true
		}
		first[name] = instance
	}
	return false
}

// labelValue returns the value of a label in the text behind the brace of a series.
func labelValue(text, label string) (value string, ok bool) {
	_, value, ok = strings.Cut(","+text, ","+label+`="`)
	value, _, _ = strings.Cut(value, `"`)
	return value, ok
}

// named reports whether a name is one by which the kind is known.
func (k *Kind) named(name string) bool {
	return slices.ContainsFunc(k.marks, func(m mark) bool { return !m.anywhere && strings.HasPrefix(name, m.text) })
}

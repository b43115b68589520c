package engine

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
)

// Found is what detection found at an address.
type Found struct {
	Kind Kind
	// Path is where the kind has its page.
	Path string
	// Evidence says what showed the kind, for people; empty where nothing did.
	Evidence string
	// Companion is which program it is that is no LLM server, for people; then no kind
	// is known.
	Companion string
}

// mark is a text by which a page shows its kind of server.
type mark struct {
	// text begins the name of a sample or family, or is anywhere on the page.
	text     string
	anywhere bool
	// weight decides between kinds: some servers pass on series of the one
	// inside, whose marks weigh less than their own.
	weight int
}

// on says whether a page has the mark.
func (m *mark) on(body []byte) bool {
	if m.anywhere {
		return bytes.Contains(body, []byte(m.text))
	}
	return bytes.HasPrefix(body, []byte(m.text)) ||
		bytes.Contains(body, []byte("\n"+m.text)) ||
		bytes.Contains(body, []byte("# TYPE "+m.text))
}

// words are the mark for people.
func (m *mark) words() string {
	if m.anywhere {
		return "the page has " + strings.TrimLeft(m.text, "{,")
	}
	return "the page has names that begin with " + m.text
}

// FromPage is the kind of server by the marks on its page, Unknown when there
// are none.
func FromPage(body []byte) Kind { return Marked(body).Kind }

// Marked is what a page is of by the mark on it that weighs most.
func Marked(body []byte) Found {
	found, most := Found{Kind: Unknown}, 0
	weigh := func(of Found, marks []mark) {
		for _, m := range marks {
			if m.weight > most && m.on(body) {
				found, most = of, m.weight
				found.Evidence = m.words()
			}
		}
	}
	for _, e := range registry {
		weigh(Found{Kind: e.Kind(), Path: e.MetricsPath()}, e.data().marks)
	}
	for _, c := range companions() {
		weigh(Found{Kind: Unknown, Path: None().MetricsPath(), Companion: c.what}, c.marks)
	}
	return found
}

// Recognise finds the kind of server by its page; kinds that may have the page
// of another are known by what else the address answers.
func Recognise(ctx context.Context, ask Asker, address string, body []byte) Found {
	return recognise(ctx, &questions{ask: Remember(ask), base: address}, body)
}

// recognise is Recognise with questions that are remembered.
func recognise(ctx context.Context, q *questions, body []byte) Found {
	found := Marked(body)
	for _, e := range registry {
		if !slices.Contains(e.data().pageOf, found.Kind) {
			continue
		}
		if why := e.isIt(ctx, q); why != "" {
			return Found{Kind: e.Kind(), Path: e.MetricsPath(), Evidence: found.Evidence + "; " + why}
		}
	}
	return found
}

// Alike says whether both kinds may show the same page.
func Alike(a, b Kind) bool {
	return a == b || slices.ContainsFunc(pagesOf(a), func(k Kind) bool { return slices.Contains(pagesOf(b), k) })
}

// pagesOf are the kinds of which a kind's page may be.
func pagesOf(kind Kind) []Kind {
	if e, ok := Of(string(kind)); ok {
		return append([]Kind{kind}, e.data().pageOf...)
	}
	return []Kind{kind}
}

// pageLimit bounds a page that is read only to be recognised.
const pageLimit = 16 << 20

// Detect asks a server, given by scheme, host and port of its page, what it is,
// and where its page is: by its page, then by what only one kind answers. Only
// content counts: some servers answer every path with 200. Unknown means that
// nothing known answered.
func Detect(ctx context.Context, ask Asker, address string) Found {
	return detect(ctx, ask, address, true)
}

// FromAPI finds the kind of a server whose page shows none, by what only one kind
// answers.
func FromAPI(ctx context.Context, ask Asker, address string) Found {
	return detect(ctx, ask, address, false)
}

// detect goes through the kinds by priority, with their pages or without. A kind without marks
// shows only next to the page that it has.
func detect(ctx context.Context, ask Asker, address string, pages bool) Found {
	q := &questions{ask: Remember(ask), base: address}
	seen := make(map[string]bool)
	kinds := All()
	slices.SortStableFunc(kinds, func(a, b Engine) int { return cmp.Compare(b.data().priority, a.data().priority) })
	for _, e := range kinds {
		path := e.MetricsPath()
		if pages && !seen[path] {
			seen[path] = true
			page, _ := pageAt(ctx, q.ask, address+path)
			if found := recognise(ctx, q, page); found.Kind != Unknown || found.Companion != "" {
				found.Path = path
				return found
			}
		}
		if len(e.data().marks) == 0 {
			continue
		}
		if why := e.isIt(ctx, q); why != "" {
			return Found{Kind: e.Kind(), Path: path, Evidence: why}
		}
	}
	return Found{Kind: Unknown}
}

// pageAt is what answers under a URL; false unless it is 200.
func pageAt(ctx context.Context, ask Asker, url string) ([]byte, bool) {
	status, _, body, err := ask.Do(ctx, http.MethodGet, url, nil, pageLimit)
	if err != nil || status != http.StatusOK {
		return nil, false
	}
	return body, true
}

// HasPage says whether an API has a page of its kind next to it.
func HasPage(ctx context.Context, ask Asker, e Engine, address string) bool {
	body, ok := pageAt(ctx, ask, address+e.MetricsPath())
	return ok && Alike(FromPage(body), e.Kind())
}

// Hint says what an address that shows no known page may be instead, for people;
// empty when nothing is known.
func Hint(ctx context.Context, ask Asker, address string) string {
	for _, e := range registry {
		if hint := e.hint(ctx, &questions{ask: ask, base: address}); hint != "" {
			return hint
		}
	}
	return ""
}

// FromEmptyPage is the kind of a server that has a page without a sample at that
// path: the one kind that has its page there, if such a page is a good one of it
// and the address does not answer every path so.
func FromEmptyPage(ctx context.Context, ask Asker, address, path string) Found {
	found := Found{Kind: Unknown}
	q := &questions{ask: ask, base: address}
	if _, ok := pageAt(ctx, ask, address+versionPath); ok && q.version(ctx) == "" {
		return found
	}
	for _, e := range registry {
		switch {
		case strings.TrimSuffix(path, "/") != e.MetricsPath() || !e.EmptyPage():
		case found.Kind != Unknown:
			return Found{Kind: Unknown}
		default:
			found = Found{Kind: e.Kind(), Path: path, Evidence: "a page without samples is at " + path}
		}
	}
	return found
}

// ModelLabels are the labels by which servers name a model, the first that a series
// has counting: next to model_name trtllm-serve writes as model from where it was
// loaded (collector.py, trtllm_model_config_info).
func ModelLabels() []string { return []string{"model_name", "model"} }

// memory puts each question once: one answer may serve several.
type memory struct {
	Asker

	answers map[string]answer
}

// answer is what came of a question.
type answer struct {
	status int
	header http.Header
	body   []byte
	err    error
}

// Remember returns an asker that puts each question once.
func Remember(ask Asker) Asker { return &memory{ask, make(map[string]answer)} }

// Do implements Asker.
func (m *memory) Do(ctx context.Context, method, url string, body []byte, limit int64) (int, http.Header, []byte, error) {
	a, known := m.answers[method+url]
	if !known {
		a.status, a.header, a.body, a.err = m.Asker.Do(ctx, method, url, body, limit)
		m.answers[method+url] = a
	}
	return a.status, a.header, a.body, a.err
}

// companion is a program that fleets run next to their servers, and that shows names
// of theirs or is taken for one of them: a router, or what measures something else. It
// is no engine: nothing is asked of it and nothing derived.
type companion struct {
	what  string
	marks []mark
}

// companions are known by what only they show: a mark of more weight than those of
// kinds where a page shows both (production-stack, services/metrics_service; smg,
// docs/reference/metrics.md; llm-d-router and the gateway API inference extension,
// pkg/epp/metrics; ai-dynamo, planner and kvbm; nixl, src/core/telemetry).
func companions() []companion {
	const router, alone = 10, 1
	begins := func(weight int, names ...string) (marks []mark) {
		for _, name := range names {
			marks = append(marks, mark{text: name, weight: weight})
		}
		return marks
	}
	return []companion{
		{"the router of vLLM's production stack", append(begins(router, "vllm:healthy_pods_total", "router_cpu_usage_percent"),
			mark{text: `vllm:num_requests_running{server="`, anywhere: true, weight: router})},
		{"the router smg, or that of SGLang it comes from", begins(router, "smg_", "sgl_router_")},
		{"vllm-router", begins(router, "vllm_router_")},
		{"the endpoint picker of an inference gateway", begins(router, "llm_d_epp_", "llm_d_router_epp_", "inference_pool_", "inference_objective_", "inference_model_", "inference_extension_")},
		{"Dynamo's planner", begins(router, "dynamo_planner_")},
		{"Dynamo's manager of KV blocks, kvbm", begins(alone, "kvbm_")},
		{"the exporter of NIXL", begins(alone, "agent_xfer_time", "agent_xfer_post_time")},
	}
}

package engine

import (
	"bytes"
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"
)

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

// FromPage is the kind of server by the marks on its page, Unknown when there
// are none.
func FromPage(body []byte) Kind {
	kind, most := Unknown, 0
	for _, e := range registry {
		for _, m := range e.data().marks {
			if m.weight > most && m.on(body) {
				kind, most = e.Kind(), m.weight
			}
		}
	}
	return kind
}

// Recognise is the kind of server by its page; kinds that share a page are distinguished
// apart by what else the address answers.
func Recognise(ctx context.Context, ask Asker, address string, body []byte) Kind {
	kind := FromPage(body)
	if kind == Unknown {
		return Unknown
	}
	for _, e := range registry {
		if e.data().pageOf == kind && e.isIt(ctx, ask, address) {
			return e.Kind()
		}
	}
	return kind
}

// Alike says whether both kinds may show the same page.
func Alike(a, b Kind) bool { return pageOf(a) == pageOf(b) }

// pageOf is the kind whose page a kind has.
func pageOf(kind Kind) Kind {
	if e, ok := Of(string(kind)); ok && e.data().pageOf != "" {
		return e.data().pageOf
	}
	return kind
}

// pageLimit bounds a page that is read only to be recognised.
const pageLimit = 16 << 20

// Detect asks a server, given by scheme, host and port of its page, what it is,
// and where its page is. Only content counts: some servers answer every path
// with 200. Unknown means that nothing known answered.
func Detect(ctx context.Context, ask Asker, address string) (kind Kind, path string) {
	order := All()
	slices.SortStableFunc(order, func(a, b Engine) int { return cmp.Compare(b.data().priority, a.data().priority) })
	asked := make(map[string]bool)
	for _, e := range order {
		path := e.MetricsPath()
		if !asked[path] {
			asked[path] = true
			if kind := Recognise(ctx, ask, address, pageAt(ctx, ask, address+path)); kind != Unknown {
				return kind, path
			}
		}
		if e.data().pageOf == "" && e.isIt(ctx, ask, address) {
			return e.Kind(), path
		}
	}
	return Unknown, ""
}

// pageAt is what answers under a URL; nil unless it is 200.
func pageAt(ctx context.Context, ask Asker, url string) []byte {
	status, _, body, err := ask.Do(ctx, http.MethodGet, url, nil, pageLimit)
	if err != nil || status != http.StatusOK {
		return nil
	}
	return body
}

// Hint says what an address that shows no known page may be instead, for people;
// empty when nothing is known.
func Hint(ctx context.Context, ask Asker, address string) string {
	for _, e := range registry {
		if hint := e.hint(ctx, ask, address); hint != "" {
			return hint
		}
	}
	return ""
}

// FromURL guesses the kind by the path of the page alone: one that a single kind
// has.
func FromURL(path string) Kind {
	kind := Unknown
	for _, e := range registry {
		if !strings.HasPrefix(path, e.MetricsPath()) {
			continue
		}
		if kind != Unknown {
			return Unknown
		}
		kind = e.Kind()
	}
	return kind
}

// ModelLabels are the labels by which servers name a model.
func ModelLabels() []string { return []string{"model", "model_name"} }

package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// checkKinds checks a file that declares kinds, and says what its series are, on a page if one is given.
func checkKinds(w io.Writer, file string, text []byte, page string) error {
	kinds, err := config.ParseKinds(file, text)
	if err != nil {
		return err
	}
	declared := kinds.Declared()
	p := &textTable{width: widthOf(w)}
	p.line(fmt.Sprintf("%s: OK, %s", file, count(len(declared), "kind")))
	p.verbatim("\n")
	if page != "" {
		if err := describeMatches(p, kinds, page); err != nil {
			return err
		}
	} else {
		describeKinds(p, declared)
	}
	_, err = io.WriteString(w, p.String())
	return err
}

// describeKinds says what each series of a file would match.
func describeKinds(p *textTable, declared []*engine.Kind) {
	for _, k := range declared {
		p.line("  " + aboutKind(k))
		if len(k.DeclaredSeries()) == 0 {
			p.line("    no series is listed: its page is passed on, and nothing is derived from it")
		}
		for _, m := range k.DeclaredSeries() {
			p.row("    "+selectorOf(&m), typeOf(&m), m.Signal.String(), joined(detailsOf(&m), releaseDoubt(k, &m)))
		}
	}
}

// aboutKind says how servers of a kind are found.
func aboutKind(k *engine.Kind) string {
	names := count(len(k.DeclaredSeries()), "name")
	if !k.Declared {
		return fmt.Sprintf("%s, with %s besides its own", k.Name, names)
	}
	return fmt.Sprintf("%s: page %s, recognised by names that begin with %q; %s", k.Name, k.Path, k.Marks(), names)
}

// selectorOf returns what a meaning matches, as a query has it.
func selectorOf(m *engine.Meaning) string {
	var parts []string
	for _, w := range m.Where {
		switch w.Method {
		case engine.StartsWith:
			parts = append(parts, fmt.Sprintf(`%s=~"%s.*"`, w.Label, w.Value))
		default:
			parts = append(parts, fmt.Sprintf("%s%s%q", w.Label, w.Method, w.Value))
		}
	}
	if len(parts) == 0 {
		return m.Name
	}
	return m.Name + "{" + strings.Join(parts, ",") + "}"
}

// typeOf returns what the series of a meaning must be.
func typeOf(m *engine.Meaning) string {
	switch t := m.Signal.Type(); {
	case t.Form == engine.Histogram:
		return "histogram"
	case t.Counter:
		return "counter"
	}
	return "gauge"
}

// detailsOf returns how the values of a meaning are read.
func detailsOf(m *engine.Meaning) string {
	var parts []string
	if m.Shift > 0 {
		parts = append(parts, fmt.Sprintf("times 1e-%d", m.Shift))
	}
	for _, dim := range m.Dims {
		parts = append(parts, dim.Ours+" from "+dim.Theirs)
	}
	for _, class := range engine.Classes() {
		if m.Outcome != nil && !m.Outcome.Codes && m.Outcome.Usual == class {
			parts = append(parts, "class "+string(class)+" unless said otherwise")
		}
	}
	for _, e := range m.Unless {
		word := "unless "
		if e.Lacking {
			word = "only with "
		}
		parts = append(parts, word+e.Name)
	}
	if !m.Releases.All() {
		parts = append(parts, "in "+m.Releases.String())
	}
	if doubt := unitDoubt(m); doubt != "" {
		parts = append(parts, doubt)
	}
	return strings.Join(parts, "; ")
}

// joined joins what is to be said of a series.
func joined(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(part string) bool { return part == "" }), "; ")
}

// releaseDoubt says that releases decide about a series, and nothing tells which one a server is; empty if something
// does, or all releases are meant.
func releaseDoubt(k *engine.Kind, m *engine.Meaning) string {
	switch {
	case m.Releases.All() || k.TellsVersion():
		return ""
	case k.Declared:
		return "no value while the version is unknown: set paths.version, or engine_version in the pool"
	}
	return fmt.Sprintf("no value while the version is unknown, which a %s does not tell: set engine_version in the pool",
		k.Name)
}

// describeMatches says what a file's series match on a page.
func describeMatches(p *textTable, kinds *engine.Kinds, name string) error {
	text, err := config.ReadFile(name)
	if err != nil {
		return fmt.Errorf("--page: %w; save one with: curl -s http://SERVER/metrics", err)
	}
	found := kinds.FromPage(text)
	k, ok := kinds.Named(string(found.Kind))
	if !ok || !slices.Contains(kinds.Declared(), k) {
		return fmt.Errorf("--page: %s is no page of a kind in the file: it has no names that begin with a mark of one, "+
			"or those of a built-in kind", name)
	}
	cache := exposition.NewCache(exposition.Options{Watch: engine.Watch(k)})
	block, err := cache.Parse(text, "", nil)
	if err != nil {
		return fmt.Errorf("--page: %s: %w", name, err)
	}
	p.line(fmt.Sprintf("  %s is of %s: %s", name, k.Name, found.Evidence))
	on := onPage{k, block, engine.ReadPage(k, block).Sources(), unreadOf(k, block.Shape().Families())}
	for _, m := range k.DeclaredSeries() {
		p.row("    "+selectorOf(&m), typeOf(&m), m.Signal.String(), on.matches(&m))
	}
	if len(on.unread) > 0 {
		p.line("  nothing reads " + strings.Join(on.unread, ", "))
	}
	return nil
}

// unreadOf returns the families of a page with the marks of a kind that have no meaning.
func unreadOf(k *engine.Kind, families []exposition.Family) (names []string) {
	watch := engine.Watch(k)
	for _, f := range families {
		begins := func(mark string) bool { return strings.HasPrefix(f.Name, mark) }
		read := watch(f.Name) || watch(f.Name+"_bucket") || watch(f.Name+"_sum") || watch(f.Name+"_count")
		born := strings.HasSuffix(f.Name, "_created") // When another family began, as clients of Prometheus add it.
		if slices.ContainsFunc(k.Marks(), begins) && !read && !born {
			names = append(names, f.Name)
		}
	}
	return names
}

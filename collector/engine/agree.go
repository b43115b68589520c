package engine

import (
	"path"
	"slices"
	"strings"
)

// Agree says whether an API is that of the server that shows a page, by what it
// answered: it is of that kind and has the models of the page. What answers 200 to all
// paths, as Triton's port of metrics does, is of no kind. The page may be nil; what
// answers in the words of the kind is then the server's as far as is known.
func Agree(e Engine, p *Page, f *Facts) Trust {
	switch {
	case f == nil:
		return TrustUnknown
	case !f.Shown && !f.Listed && slices.ContainsFunc(f.Problems, func(q Problem) bool { return q.Stray }):
		return TrustNo
	case p != nil:
		return e.agree(p, f)
	case f.Shown:
		return TrustYes
	}
	return TrustUnknown
}

// agree implements Engine: an API that lists none of the models that the page names
// is another server's. Clients make up names that come to some pages, so that one
// model is enough.
func (b *base) agree(p *Page, f *Facts) Trust {
	named, shared := false, false
	for _, name := range p.modelNames {
		if name == UnnamedModel || name == b.nobody {
			continue
		}
		named = true
		shared = shared || slices.ContainsFunc(f.Models, func(m ModelFacts) bool { return sameModel(m.Name, name) })
	}
	switch {
	case !named || len(f.Models) == 0:
		return TrustUnknown
	case !shared:
		return TrustNo
	case f.Shown:
		return TrustYes
	}
	return TrustUnknown
}

// sameModel says whether two names are of one model: some servers list the last part
// of a path that their page has whole, and some pages have small letters only.
func sameModel(a, b string) bool {
	return strings.EqualFold(a, b) || strings.EqualFold(path.Base(a), path.Base(b)) && (path.IsAbs(a) || path.IsAbs(b))
}

// agree implements Engine: Triton counts requests of each model that it has loaded,
// from the load on, so that its page and its index name the same.
func (t *triton) agree(p *Page, f *Facts) Trust {
	if !f.Shown || !f.Listed {
		return TrustUnknown
	}
	same, differ := 0, 0
	for name, loaded := range p.loaded {
		if listed := f.Model(name) != nil; loaded && listed {
			same++
		} else if loaded {
			differ++
		}
	}
	for i := range f.Models {
		if f.Models[i].State == ModelReady && !p.loaded[f.Models[i].Name] {
			differ++
		}
	}
	switch {
	case differ == 0:
		return TrustYes
	case len(p.loaded) == 0:
		return t.base.agree(p, f)
	case same == 0:
		return TrustNo
	}
	return TrustUnknown
}

// BasePath is the path before which a server has both its page and its API, given the
// path of the page: empty at the root of its host. A kind that is not known yet has
// its page where any kind has it.
func BasePath(e Engine, page string) string {
	page = strings.TrimSuffix(page, "/")
	paths := []string{e.MetricsPath()}
	if e.Kind() == Unknown {
		for _, known := range registry {
			paths = append(paths, known.MetricsPath())
		}
	}
	slices.SortFunc(paths, func(a, b string) int { return len(b) - len(a) })
	for _, known := range paths {
		if base, ok := strings.CutSuffix(page, known); ok {
			return base
		}
	}
	if page == "" {
		return ""
	}
	return strings.TrimSuffix(path.Dir(page), "/")
}

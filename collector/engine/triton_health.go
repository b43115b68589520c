package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Health implements Engine: GET, never HEAD, which Triton answers with 405.
func (*triton) Health(ctx context.Context, ask Asker, address string) Health {
	h, _ := readiness(ctx, ask, address+tritonReady)
	if h.API == APIRefused || h.API == APIUnknown {
		return h
	}
	if status, _, _, err := ask.Do(ctx, http.MethodGet, address+"/v2/health/live", nil, answerLimit); err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, status == http.StatusOK || status == http.StatusBadRequest
	}
	if h.LiveKnown && !h.Live {
		// It ends. The index of 2.36 no longer answers then.
		return h
	}
	q := &questions{ask: ask, base: address}
	var index []ModelState
	if _, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index); ok {
		h.Models = make([]ModelState, 0, min(len(index), modelsKept))
		for _, row := range index {
			// A model that was never loaded has a name and no state.
			if row.State != "" && plainText(row.Name) != "" && len(h.Models) < modelsKept {
				h.Models = append(h.Models, row)
			}
		}
	}
	h.Detail += notLoaded(h.Models)
	return h
}

// notLoaded names the models of which no version is ready, for people: a server
// says ready again when a model that was unloaded is gone.
func notLoaded(models []ModelState) string {
	const most = 4
	settled := make(map[string]bool)
	for _, m := range models {
		settled[m.Name] = settled[m.Name] || m.State == ModelReady
	}
	var names []string
	for _, m := range models {
		if settled[m.Name] {
			continue
		}
		settled[m.Name] = true
		why := strings.ToLower(m.State)
		if m.State == ModelUnavailable && m.Reason != "" {
			why = short([]byte(m.Reason))
		}
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, why))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > most:
		return fmt.Sprintf("; not loaded: %s and %d more", strings.Join(names[:most], ", "), len(names)-most)
	}
	return "; not loaded: " + strings.Join(names, ", ")
}

// Unserved implements Engine: a Triton whose only LLM was unloaded is ready again,
// and its index and page still show the models around it.
func (*tritonPage) Unserved(p *Page, f *Facts, models []ModelState) string {
	var gone []string
	for _, name := range tritonLLMs(p, f) {
		if tritonLoaded(name, p, models) {
			return ""
		}
		gone = append(gone, name)
	}
	if len(gone) == 0 {
		return ""
	}
	return "the server is ready and its LLM is not loaded: " + strings.Join(gone, ", ")
}

// tritonLLMs are the models that serve an LLM, by their configs or by what their
// executors left on the page.
func tritonLLMs(p *Page, f *Facts) []string {
	all := make(map[string]bool)
	drafts := make(map[string]bool)
	for i := range f.models() {
		m := &f.Models[i]
		drafts[m.Draft] = true
		if m.Configured && (m.Backend == backendCPP || m.Backend == backendVLLM || m.Name == llmName) {
			all[m.Name] = true
		}
	}
	if p != nil {
		for _, r := range p.readings {
			if r.meaning.Signal == EngineIterations {
				all[modelOf(p.labels(r))] = true
			}
		}
	}
	for name := range drafts {
		delete(all, name)
	}
	return sorted(all)
}

// tritonLoaded says whether a model is loaded: by the page, which shows at once
// that it is not, else by the index.
func tritonLoaded(name string, p *Page, models []ModelState) bool {
	if loaded, known := p.Loaded(name); known {
		return loaded
	}
	models = slices.DeleteFunc(slices.Clone(models), func(m ModelState) bool { return m.Name != name })
	return len(models) == 0 || slices.ContainsFunc(models, func(m ModelState) bool { return m.State == ModelReady })
}

// listed are the models of a repository index, one for each name: the version
// that is ready where there are several. Models that were never loaded, of
// which a large repository has thousands, come last and are cut first.
func listed(index []ModelState) []ModelFacts {
	at := make(map[string]int)
	var models, never []ModelFacts
	for _, row := range index {
		name := plainText(row.Name)
		if name == "" {
			continue
		}
		m := ModelFacts{Name: name, Version: plainText(row.Version), State: row.State}
		i, known := at[name]
		switch {
		case row.State == "":
			never = append(never, m)
		case !known:
			at[name] = len(models)
			models = append(models, m)
		case row.State == ModelReady:
			models[i].State, models[i].Version = row.State, m.Version
		}
	}
	models = append(models, never...)
	return models[:min(len(models), modelsKept)]
}

package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
)

// Health implements Engine. Triton answers HEAD with 405, so that it sends GET.
func (t *triton) Health(ctx context.Context, client Client, address string) Health {
	h, _ := readiness(ctx, client, address+t.ready)
	if h.API == APIRefused || h.API == APIUnknown {
		return h
	}
	if status, _, _, err := client.Do(ctx, http.MethodGet, address+"/v2/health/live", nil, answerLimit); err == nil {
		h.Live, h.LiveKnown = status == http.StatusOK, status == http.StatusOK || status == http.StatusBadRequest
	}
	if h.LiveKnown && !h.Live {
		return h // It exits; the index of 2.36 no longer answers then.
	}
	q := &questions{client: client, base: address}
	var index []ModelState
	if _, ok := q.put(ctx, http.MethodPost, "/v2/repository/index", &index); ok {
		h.Models = make([]ModelState, 0, min(len(index), modelsLimit))
		for _, row := range index {
			// Models that were never loaded have no state.
			if row.State != "" && plainText(row.Name) != "" && len(h.Models) < modelsLimit {
				h.Models = append(h.Models, row)
			}
		}
	}
	h.Detail += notLoaded(h.Models)
	return h
}

// notLoaded lists the models without a ready version: a server is ready again once a model is
// unloaded.
func notLoaded(models []ModelState) string {
	const limit = 4
	listed := make(map[string]bool)
	for _, m := range models {
		listed[m.Name] = listed[m.Name] || m.State == ModelReady
	}
	var names []string
	for _, m := range models {
		if listed[m.Name] {
			continue
		}
		listed[m.Name] = true
		why := strings.ToLower(m.State)
		if m.State == ModelUnavailable && m.Reason != "" {
			why = short([]byte(m.Reason))
		}
		names = append(names, fmt.Sprintf("%s (%s)", m.Name, why))
	}
	switch {
	case len(names) == 0:
		return ""
	case len(names) > limit:
		return fmt.Sprintf("; not loaded: %s and %d more", strings.Join(names[:limit], ", "), len(names)-limit)
	}
	return "; not loaded: " + strings.Join(names, ", ")
}

// Unserved implements Engine. A Triton whose only LLM was unloaded is ready, and its index and page
// still show the models around it.
func (*tritonPage) Unserved(p *Page, f *Facts, models []ModelState) string {
	var unloaded []string
	for _, name := range tritonLLMs(p, f) {
		if tritonLoaded(name, p, models) {
			return ""
		}
		unloaded = append(unloaded, name)
	}
	if len(unloaded) == 0 {
		return ""
	}
	return "the server is ready but its LLM is not loaded: " + strings.Join(unloaded, ", ")
}

// tritonLLMs returns the models that serve an LLM, by their configs or by the series of their
// executors.
func tritonLLMs(p *Page, f *Facts) []string {
	all, drafts := make(map[string]bool), make(map[string]bool)
	for i := range f.get().Models {
		m := &f.Models[i]
		drafts[m.Draft] = true
		if m.Configured && (m.Backend == backendCPP || m.Backend == backendVLLM || m.Name == llmName) {
			all[m.Name] = true
		}
	}
	for _, r := range p.get().readings {
		if r.meaning.Signal == EngineIterations {
			all[modelOf(p.labels(r))] = true
		}
	}
	for name := range drafts {
		delete(all, name)
	}
	return sorted(all)
}

// tritonLoaded reports whether a model is loaded: by the page, which shows an unload at once, or
// else by the index.
func tritonLoaded(name string, p *Page, models []ModelState) bool {
	if loaded, known := p.Loaded(name); known {
		return loaded
	}
	models = slices.DeleteFunc(slices.Clone(models), func(m ModelState) bool { return m.Name != name })
	return len(models) == 0 || slices.ContainsFunc(models, func(m ModelState) bool { return m.State == ModelReady })
}

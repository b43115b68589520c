package web

import (
	"cmp"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// origins are those of all labels that the exporter adds.
func origins(r *replica) []Origin {
	all := []Origin{
		{"pool_id", r.PoolID, "pool_id of the pool in the configuration, or label pool_id of the target"},
		{"replica_id", r.ReplicaID, "label replica_id of the target, or the name of its pod"},
		engineOrigin(r),
		versionOrigin(r),
		libraryOrigin(r),
	}
	if u, err := url.Parse(r.Target.MetricsURL); err == nil && u.Host == r.ReplicaID {
		all[1].From = "address of the target, as nothing else names it: set label replica_id"
	}
	var models []string
	for _, m := range r.Status.Models {
		if !slices.Contains(models, m.ModelID) {
			models = append(models, m.ModelID)
		}
	}
	if len(models) > 0 {
		all = append(all, Origin{"model_id", strings.Join(models, ", "), "models of the server, or model_ids of the pool"})
	}
	var further []Origin
	for name, value := range r.Target.Labels {
		further = append(further, Origin{name, value, "label of the target, from discovery or relabel_configs"})
	}
	slices.SortFunc(further, func(a, b Origin) int { return cmp.Compare(a.Name, b.Name) })
	return append(all, further...)
}

// engineOrigin says how the kind of server is known.
func engineOrigin(r *replica) Origin {
	detected := known(r.Status.DetectedEngine)
	if !r.Target.Auto() {
		from := "engine of the pool, or label engine of the target"
		if detected != "" && detected != r.Target.Engine {
			from += "; its page is that of " + detected
		}
		return Origin{"engine", r.Target.Engine, from}
	}
	if detected == "" {
		return Origin{"engine", unknown, "the server has not been recognised yet"}
	}
	return Origin{"engine", detected, "recognised by the server's page and API"}
}

// versionOrigin says how the version of the server is known.
func versionOrigin(r *replica) Origin {
	switch {
	case r.Target.EngineVersion != "":
		return Origin{"engine_version", r.Target.EngineVersion, "engine_version of the pool, or label of the target"}
	case known(r.Status.EngineVersion) == "":
		return Origin{"engine_version", unknown, "the server's API does not say it: declare engine_version"}
	}
	return Origin{"engine_version", r.Status.EngineVersion, "answer of the server's API"}
}

// libraryOrigin says how the version of TensorRT-LLM is known.
func libraryOrigin(r *replica) Origin {
	from := map[string]string{
		"config":              "trtllm_version of the pool, or label of the target",
		"version_endpoint":    "answer of the server's API",
		"model_parameter":     "parameter of a model's configuration",
		"metrics_page":        "its own page",
		"compatibility_table": "the release of Triton, by the compatibility table of the exporter",
	}[r.Status.VersionSource]
	if known(r.Status.TRTLLMVersion) == "" {
		return Origin{"trtllm_version", unknown, "nothing says it: declare trtllm_version"}
	}
	return Origin{"trtllm_version", r.Status.TRTLLMVersion, cmp.Or(from, strings.ReplaceAll(r.Status.VersionSource, "_", " "))}
}

// commands repeat the scrape, without anything secret.
func (s *Server) commands(r *replica) []Command {
	if r.Target.Silent {
		return nil
	}
	raw := cmp.Or(r.Status.PageURL, r.Target.MetricsURL)
	page := address(raw)
	what := "The same page"
	if page != raw {
		what += " (the configuration adds a user or a query, which is left out here)"
	}
	doctor := []string{"trtllm_exporter doctor"}
	if s.opts.ConfigFile != "" {
		doctor = append(doctor, "--config.file", quoted(s.opts.ConfigFile), "--pool-id", quoted(r.PoolID))
	}
	if api, err := url.Parse(cmp.Or(r.Status.APIURL, r.Target.APIURL)); err == nil && api.Port() != "" {
		doctor = append(doctor, "--api-port", api.Port())
		if api.Path != "" {
			doctor = append(doctor, "--api-path", quoted(api.Path))
		}
	}
	return []Command{
		{what, "curl -sS --max-time " + strconv.FormatFloat(r.Target.Timeout.Seconds(), 'f', -1, 64) + " " + quoted(page)},
		{"What the server exposes, and what would make it expose more", strings.Join(append(doctor, quoted(page)), " ")},
	}
}

// quoted is a word of a shell's command line.
func quoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain is a word that means nothing to a shell but itself.
var plain = regexp.MustCompile(`^[\w.:/@-]*$`)

// harmless is a word of a command line that is shown, escaped as in a URL where it would
// mean something to a shell.
func harmless(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return url.QueryEscape(word)
}

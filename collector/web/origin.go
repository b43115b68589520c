package web

import (
	"cmp"
	"maps"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// origins returns the labels that the exporter adds.
func origins(r *replica) []Origin {
	all := []Origin{
		{"pool_id", r.PoolID, "pool_id of the pool in the configuration, or label pool_id of the target"},
		{"replica_id", r.ReplicaID, "label replica_id of the target, or the name of its pod"},
		engineOrigin(r),
		versionOrigin(r),
		libraryOrigin(r),
	}
	if u, err := url.Parse(r.Target.MetricsURL); err == nil && u.Host == r.ReplicaID {
		all[1].From = "address of the target, as it has no other name: set label replica_id"
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
	for _, name := range slices.Sorted(maps.Keys(r.Target.Labels)) {
		all = append(all, Origin{name, r.Target.Labels[name], "label of the target, from discovery or relabel_configs"})
	}
	return all
}

func engineOrigin(r *replica) Origin {
	detected := ifKnown(r.Status.DetectedEngine)
	switch {
	case r.Target.Auto() && detected == "":
		return Origin{"engine", unknown, "the server has not been recognised yet"}
	case r.Target.Auto():
		return Origin{"engine", detected, "recognised by the server's page and API"}
	case detected != "" && detected != r.Target.Engine:
		return Origin{"engine", r.Target.Engine, "engine of the pool, or label engine of the target; its page is that of " + detected}
	}
	return Origin{"engine", r.Target.Engine, "engine of the pool, or label engine of the target"}
}

func versionOrigin(r *replica) Origin {
	switch {
	case r.Target.EngineVersion != "":
		return Origin{"engine_version", r.Target.EngineVersion, "engine_version of the pool, or label of the target"}
	case ifKnown(r.Status.EngineVersion) == "":
		return Origin{"engine_version", unknown, "the server's API does not report it: set engine_version"}
	}
	return Origin{"engine_version", r.Status.EngineVersion, "answer of the server's API"}
}

func libraryOrigin(r *replica) Origin {
	if ifKnown(r.Status.TRTLLMVersion) == "" {
		return Origin{"trtllm_version", unknown, "no source reports it: set trtllm_version"}
	}
	return Origin{"trtllm_version", r.Status.TRTLLMVersion, map[string]string{
		"config":              "trtllm_version of the pool, or label of the target",
		"version_endpoint":    "answer of the server's API",
		"model_parameter":     "parameter of a model's configuration",
		"metrics_page":        "its own page",
		"compatibility_table": "the release of Triton, by the compatibility table of the exporter",
	}[r.Status.VersionSource]}
}

// commands returns commands that repeat the scrape, without secrets.
func (s *Server) commands(r *replica) []Command {
	if r.Target.Silent {
		return nil
	}
	raw := cmp.Or(r.Status.PageURL, r.Target.MetricsURL)
	page := address(raw)
	what := "The same page"
	if page != raw {
		what += " (without the user or the query that the configuration adds)"
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
		{"What the server exposes, and which flags make it expose more", strings.Join(append(doctor, quoted(page)), " ")},
	}
}

func quoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain matches words that have no special meaning to a shell.
var plain = regexp.MustCompile(`^[\w.:/@-]*$`)

// harmless escapes a word as in a URL if it has a special meaning to a shell.
func harmless(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return url.QueryEscape(word)
}

package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/alecthomas/kingpin/v2"
	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/relabel"
)

func declareCheckConfig(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("check-config", "Check a configuration file, or one that declares kinds of servers, and "+
		"report each mistake with its line. It needs no network and no cluster.")
	file := cmd.Arg("file", "Configuration file, or a kinds_file.").Required().String()
	page := cmd.Flag("page", "Saved metrics page of a server: what the series of a kinds_file match on it.").
		PlaceHolder("FILE").
		String()
	return cmd.FullCommand(), func() error {
		text, err := config.Read(*file)
		switch {
		case err != nil:
			return err
		case config.DeclaresKinds(text):
			return checkKinds(out.stdout, *file, text, *page)
		case *page != "":
			return exitError{errors.New("--page is for a file that declares kinds; name the kinds_file"), exitUsage}
		}
		return checkConfig(out.stdout, *file, text)
	}
}

// checkConfig does everything that a start does without network, and summarizes the file.
func checkConfig(w io.Writer, file string, text []byte) error {
	f, err := config.Parse(file, text, collector.CheckPool)
	if err != nil {
		return err
	}
	p := &textTable{width: widthOf(w)}
	head := fmt.Sprintf("%s: OK, %s", file, count(len(f.Pools), "pool"))
	if total := f.Sharding.Total; total > 1 {
		head += fmt.Sprintf(" shared by %d exporters", total)
	}
	p.line(head)
	if declared := f.Kinds.Declared(); len(declared) > 0 {
		var names []string
		for _, k := range declared {
			names = append(names, string(k.Name))
		}
		p.line(fmt.Sprintf("  kinds of %s: %s", strings.Join(f.KindsFiles, ", "), strings.Join(names, ", ")))
	}
	for _, warning := range warnings(file, text, f) {
		p.line("  warning: " + warning)
	}
	groups, err := groupsText(&f.Exposition)
	if err != nil {
		return err
	}
	if groups != "" {
		p.line("  exposition: " + groups)
	}
	for i := range f.Pools {
		pool := &f.Pools[i]
		p.line(fmt.Sprintf("  %s: engine %s, %s, every %s, timeout %s%s", pool.PoolID, pool.Engine,
			sourcesOf(&pool.Discovery), time.Duration(pool.ScrapeInterval), time.Duration(pool.ScrapeTimeout),
			seriesText(pool.Engine, &f.Exposition)))
	}
	_, err = io.WriteString(w, p.String())
	return err
}

// sourcesOf says where the targets of a pool come from.
func sourcesOf(sd *discovery.Config) string {
	targets := 0
	for _, g := range sd.StaticConfigs {
		targets += len(g.Targets)
	}
	var found []string
	for _, kind := range []struct {
		key     string
		entries int
	}{
		{"file_sd_configs", len(sd.FileSDConfigs)},
		{"http_sd_configs", len(sd.HTTPSDConfigs)},
		{"dns_sd_configs", len(sd.DNSSDConfigs)},
		{"kubernetes_sd_configs", len(sd.KubernetesSDConfigs)},
	} {
		if kind.entries > 0 {
			found = append(found, kind.key)
		}
	}
	switch {
	case len(found) == 0:
		return count(targets, "static target")
	case targets == 0:
		return "targets of " + strings.Join(found, " and ")
	}
	return count(targets, "static target") + " and those of " + strings.Join(found, " and ")
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// warnings lists what is valid in a file but probably a mistake, one line each.
func warnings(file string, text []byte, f *config.File) []string {
	var all []string
	var doc yaml.Node
	if yaml.Unmarshal(text, &doc) == nil {
		all = append(all, lookalikes(file, &doc, false)...)
	}
	addresses := map[string]string{}
	for i := range f.Pools {
		pool := &f.Pools[i]
		for _, text := range slices.Concat(poolWarnings(pool), sharedAddresses(i, pool, addresses)) {
			all = append(all, fmt.Sprintf("%s: pools[%d].%s", file, i, text))
		}
	}
	return all
}

// poolWarnings returns what is probably wrong with a pool, each with its key.
func poolWarnings(pool *config.Pool) (all []string) {
	for _, text := range pool.Discovery.Unmatched() {
		all = append(all, text+"; targets appear when one does")
	}
	all = slices.Concat(all, collector.CheckStaticTargets(pool), misspelledLabels(pool))
	if text := withoutVersion(pool); text != "" {
		all = append(all, text)
	}
	if dropsState(pool) {
		all = append(all, fmt.Sprintf("metric_relabel_configs drop %s, so that no alert and no dashboard "+
			"knows its replicas; let llm_server_.* and trtllm_exporter_.* pass", stateFamily))
	}
	return all
}

// sharedAddresses names the static targets of a pool whose page another target has as well. In addresses it finds the
// key of the target that has a page already, and notes the pages of this pool.
func sharedAddresses(n int, pool *config.Pool, addresses map[string]string) (all []string) {
	for i, g := range pool.Discovery.StaticConfigs {
		for k, t := range g.Targets {
			key := fmt.Sprintf("static_configs[%d].targets[%d]", i, k)
			// Two paths at the same address are two pages.
			page := string(t[model.AddressLabel]) + string(g.Labels[model.MetricsPathLabel]) + pool.MetricsPath
			if other, duplicate := addresses[page]; duplicate {
				all = append(all, fmt.Sprintf("%s: %s is also the address of %s; it is scraped twice, and sums count it twice",
					key, t[model.AddressLabel], other))
				continue
			}
			addresses[page] = fmt.Sprintf("pools[%d].%s", n, key)
		}
	}
	return all
}

// withoutVersion finds a series of a kinds_file that releases decide about, although nothing tells the version of the
// pool's servers.
func withoutVersion(pool *config.Pool) string {
	k, ok := pool.Kinds.Named(pool.Engine)
	if !ok || pool.EngineVersion != "" {
		return ""
	}
	for _, m := range k.DeclaredSeries() {
		if doubt := releaseDoubt(k, &m); doubt != "" {
			return fmt.Sprintf("engine: %s of the kinds_file means %s in %s, and has %s", m.Name, m.Signal, m.Releases, doubt)
		}
	}
	return ""
}

// misspelledLabels finds labels of static targets that differ from one that names them, or controls how they are
// scraped, in other characters than letters alone.
func misspelledLabels(pool *config.Pool) (all []string) {
	letters := func(name string) string {
		return strings.Map(func(r rune) rune {
			if unicode.IsLetter(r) {
				return unicode.ToLower(r)
			}
			return -1
		}, name)
	}
	known := make(map[string]string)
	for _, name := range append(relabel.IdentityLabels(), collector.SilentLabel, collector.APIAddressLabel,
		collector.APIPathLabel, model.SchemeLabel, model.MetricsPathLabel) {
		known[letters(name)] = name
	}
	for i, g := range pool.Discovery.StaticConfigs {
		for _, name := range slices.Sorted(maps.Keys(g.Labels)) {
			if meant, ok := known[letters(string(name))]; ok && meant != string(name) {
				all = append(all, fmt.Sprintf("static_configs[%d].labels: %s is a label like any other; did you mean %s?",
					i, name, meant))
			}
		}
	}
	return all
}

// stateFamily is what every alert about a replica begins with.
const stateFamily = "llm_server_state"

// dropsState reports whether the rules of a pool drop the states of its replicas, whatever kind of server they are.
func dropsState(pool *config.Pool) bool {
	if len(pool.MetricRelabelConfigs) == 0 {
		return false
	}
	series := labels.FromStrings(
		model.MetricNameLabel, stateFamily, relabel.LabelPoolID, pool.PoolID,
		relabel.LabelReplicaID, relabel.Unknown, "state", string(assess.Ready),
	)
	return !slices.ContainsFunc(engine.All(), func(k *engine.Kind) bool {
		target := relabel.TargetLabels{PoolID: pool.PoolID, Engine: string(k.Name)}
		return relabel.New(pool.MetricRelabelConfigs, target).Series(series).Keep
	})
}

// variable matches what a shell or Compose would replace.
var variable = regexp.MustCompile(`\$\{[^}]*\}|^\$[A-Z][A-Z0-9_]*$`)

// typographic matches a text in quotes as word processors write them.
var typographic = regexp.MustCompile(`^[\x{2018}-\x{201f}].*[\x{2018}-\x{201f}]$`)

// lookalikes warns about values that look like something else: environment variables, which are not expanded, and
// texts in quotes that YAML does not know. In relabeling rules a dollar begins a capture group.
func lookalikes(file string, n *yaml.Node, rules bool) []string {
	if n.Kind == yaml.ScalarNode && !rules {
		if found := variable.FindString(n.Value); found != "" {
			return []string{fmt.Sprintf("%s: line %d: %s is not expanded: environment variables are not supported; "+
				"write the value, or expand it before the start", file, n.Line, found)}
		}
		if typographic.MatchString(n.Value) {
			return []string{fmt.Sprintf("%s: line %d: the typographic quotes are part of the value; write \" or ' around it",
				file, n.Line)}
		}
	}
	var all []string
	for i, child := range n.Content {
		inRules := rules
		if n.Kind == yaml.MappingNode && i%2 == 1 {
			key := n.Content[i-1].Value
			inRules = rules || key == "relabel_configs" || key == "metric_relabel_configs"
		}
		all = append(all, lookalikes(file, child, inRules)...)
	}
	return all
}

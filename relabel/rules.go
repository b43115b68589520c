// Package relabel gives targets and series their labels: target relabeling and
// metric relabeling with Prometheus' own rules, and the identity that every
// series of a target carries. It knows labels only: no HTTP, no engine, no
// configuration file and no other room of the exporter.
package relabel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
)

// Config is one rule, with the keys and the meaning of Prometheus'
// relabel_config. Names may be any UTF-8, as in Prometheus 3.
type Config = prometheus.Config

// Rules are applied one after the other. Rules that were built in Go rather
// than read from YAML have to pass [Rules.Validate] before they are used.
type Rules []*Config

// tmpPrefix begins the labels that Prometheus leaves to operators for values
// that one rule hands to the next.
const tmpPrefix = model.ReservedLabelPrefix + "tmp"

// UnmarshalYAML reads a list of Prometheus' relabel_config blocks.
func (r *Rules) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Rules
	if err := unmarshal((*plain)(r)); err != nil {
		return err
	}
	// Prometheus' rules panic when nobody has said which characters names may have.
	for _, c := range *r {
		if c != nil {
			c.NameValidationScheme = model.UTF8Validation
		}
	}
	return nil
}

// Validate says everything that is wrong with the rules. Each error begins
// with the place and the key, "[2].modulus: ...", so that the name of the list
// can be put in front. It also makes rules that were built in Go ready for use.
func (r Rules) Validate() error {
	var errs []error
	for i, c := range r {
		switch {
		case c == nil:
			errs = append(errs, fmt.Errorf("[%d]: is empty; write a rule or remove the entry", i))
		case c.Regex.Regexp == nil:
			errs = append(errs, fmt.Errorf("[%d].regex: is not set; use (.*) to match everything", i))
		default:
			if err := c.Validate(model.UTF8Validation); err != nil {
				errs = append(errs, fmt.Errorf("[%d].%s: %w", i, faultyKey(c), err))
			}
		}
	}
	return errors.Join(errs...)
}

// ValidateSeries is [Rules.Validate] for rules over series: it also refuses a
// rule that writes a label which [Relabeler.Series] puts back afterwards, for
// such a rule would seem to work and have no effect.
func (r Rules) ValidateSeries() error {
	errs := []error{r.Validate()}
	for i, c := range r {
		if c != nil && (c.TargetLabel == LabelPoolID || c.TargetLabel == LabelReplicaID) && writes(c.Action) {
			errs = append(errs, fmt.Errorf("[%d].target_label: %q identifies targets and cannot be changed on series; set it in relabel_configs or write another label", i, c.TargetLabel))
		}
	}
	return errors.Join(errs...)
}

// writes reports whether a rule of this kind sets its target_label.
func writes(a prometheus.Action) bool {
	switch a {
	case prometheus.Replace, prometheus.HashMod, prometheus.Lowercase, prometheus.Uppercase:
		return true
	default:
		return false
	}
}

// faultyKey names the key of a rule that Prometheus refused; it asks in the
// order in which Prometheus does.
func faultyKey(c *Config) string {
	valid := model.UTF8Validation.IsValidLabelName(c.TargetLabel)
	defaults := prometheus.DefaultRelabelConfig
	switch c.Action {
	case "":
		return "action"
	case prometheus.HashMod:
		if c.Modulus == 0 {
			return "modulus"
		}
	case prometheus.Lowercase, prometheus.Uppercase:
		if valid {
			return "replacement"
		}
	case prometheus.LabelMap:
		return "replacement"
	case prometheus.KeepEqual, prometheus.DropEqual:
		if valid {
			return extraKey(c, c.Regex != defaults.Regex)
		}
	case prometheus.LabelDrop, prometheus.LabelKeep:
		return extraKey(c, false)
	default:
		// Replace is refused for its target_label only.
	}
	return "target_label"
}

// extraKey names the first key that the rule's action has no use for.
func extraKey(c *Config, regex bool) string {
	defaults := prometheus.DefaultRelabelConfig
	switch {
	case c.Replacement != defaults.Replacement:
		return "replacement"
	case c.Modulus != defaults.Modulus:
		return "modulus"
	case c.Separator != defaults.Separator:
		return "separator"
	case regex:
		return "regex"
	case c.SourceLabels != nil:
		return "source_labels"
	}
	return "target_label"
}

// Target applies the rules to the labels that discovery gave a target and says
// whether it is kept. As in Prometheus, labels that begin with __meta_ or __tmp
// are gone afterwards; what the caller needs to build the target (__address__,
// __scheme__, __metrics_path__, __param_*, __scrape_interval__,
// __scrape_timeout__) stays. It is safe for concurrent use.
func (r Rules) Target(in labels.Labels) (out labels.Labels, keep bool) {
	b := labels.NewBuilder(in)
	if !prometheus.ProcessBuilder(b, r...) {
		return labels.EmptyLabels(), false
	}
	b.Range(func(l labels.Label) {
		if strings.HasPrefix(l.Name, model.MetaLabelPrefix) || strings.HasPrefix(l.Name, tmpPrefix) {
			b.Del(l.Name)
		}
	})
	return b.Labels(), true
}

// Package relabel relabels targets and series with Prometheus' relabeling rules, and attaches the
// identity labels to every series of a target. It knows only labels: no HTTP, no engines, no
// configuration file. Begin reading at [Rules] for targets and [Relabeler] for series.
package relabel

import (
	"errors"
	"fmt"
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"
	prometheus "github.com/prometheus/prometheus/model/relabel"
)

// Config is one relabel_config of Prometheus. Label names may be any valid UTF-8, as in
// Prometheus 3.
type Config = prometheus.Config

// Rules are applied in order. Rules that were not unmarshaled from YAML must be validated with
// [Rules.Validate] before use.
type Rules []*Config

const tmpPrefix = model.ReservedLabelPrefix + "tmp"

// UnmarshalYAML implements yaml.Unmarshaler.
func (r *Rules) UnmarshalYAML(unmarshal func(any) error) error {
	type plain Rules
	if err := unmarshal((*plain)(r)); err != nil {
		return err
	}
	// Prometheus panics on a rule without a validation scheme.
	for _, c := range *r {
		if c != nil {
			c.NameValidationScheme = model.UTF8Validation
		}
	}
	return nil
}

// Validate returns all errors of the rules. Each begins with the index and the key, such as
// "[2].modulus: ", to which the caller prepends the name of the list.
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
				errs = append(errs, fmt.Errorf("[%d].%s: %w", i, faultyKey(c, err), err))
			}
		}
	}
	return errors.Join(errs...)
}

// ValidateSeries is [Rules.Validate] for the rules of series. It also rejects rules that set a
// label which [Relabeler.Series] restores, because they would have no effect.
func (r Rules) ValidateSeries() error {
	errs := []error{r.Validate()}
	for i, c := range r {
		if c != nil && (c.TargetLabel == LabelPoolID || c.TargetLabel == LabelReplicaID) && writes(c.Action) {
			errs = append(errs, fmt.Errorf("[%d].target_label: %q identifies targets and cannot be changed on "+
				"series; set it in relabel_configs or write another label", i, c.TargetLabel))
		}
	}
	return errors.Join(errs...)
}

// writes reports whether rules with an action set their target_label.
func writes(a prometheus.Action) bool {
	switch a {
	case prometheus.Replace, prometheus.HashMod, prometheus.Lowercase, prometheus.Uppercase:
		return true
	default:
		return false
	}
}

// faultyKey returns the key of a rule that Prometheus rejected: the key that its error names, or
// else the first key that the action of the rule does not allow.
func faultyKey(c *Config, err error) string {
	for _, key := range []string{"'target_label'", "'replacement'", "modulus"} {
		if strings.Contains(err.Error(), key) {
			return strings.Trim(key, "'")
		}
	}
	defaults := prometheus.DefaultRelabelConfig
	switch {
	case c.Action == "":
		return "action"
	case c.Replacement != defaults.Replacement:
		return "replacement"
	case c.Modulus != defaults.Modulus:
		return "modulus"
	case c.Separator != defaults.Separator:
		return "separator"
	case c.Regex != defaults.Regex && (c.Action == prometheus.KeepEqual || c.Action == prometheus.DropEqual):
		return "regex"
	case c.SourceLabels != nil:
		return "source_labels"
	}
	return "target_label"
}

// Target applies the rules to the labels of a discovered target and reports whether the target is
// kept. As in Prometheus, labels that begin with __meta_ or __tmp are removed. The labels from
// which the caller builds the target (__address__, __scheme__, __metrics_path__, __param_*,
// __scrape_interval__, __scrape_timeout__) stay. It is safe for concurrent use.
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

package main

import (
	"errors"
	"fmt"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

func declareRules(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("rules", "Print recording rules and alerts for Prometheus.")
	file := cmd.Flag("values", "File with thresholds that override the default ones.").PlaceHolder("FILE").String()
	panels := cmd.Flag("panels", "Print also the recording rules that only "+
		"dashboards read.").Default("true").Enum("true", "false")
	list := cmd.Flag("print-values", "Print the thresholds instead of the rules.").Bool()
	return cmd.FullCommand(), func() error {
		if *list {
			text, err := alerts.ValuesText()
			if err != nil {
				return err
			}
			_, err = fmt.Fprint(out.stdout, text)
			return err
		}
		var text []byte
		if *file != "" {
			var err error
			if text, err = config.ReadFile(*file); err != nil {
				return fmt.Errorf("--values: %w", err)
			}
		}
		values, err := alerts.ParseValues(text)
		if err == nil {
			err = checkLinks(values)
		}
		if err != nil {
			return fmt.Errorf("--values %s: %w", *file, err)
		}
		rules, err := alerts.Render(values)
		if err != nil {
			return err
		}
		if *panels == "false" {
			rules = alerts.WithoutPanels(rules)
		}
		_, err = out.stdout.Write(rules)
		return err
	}
}

// checkLinks returns an error for each address of the rules that is no URL.
func checkLinks(values alerts.Values) error {
	var errs []error
	for _, key := range []string{"exporter", "grafana", "runbook"} {
		errs = append(errs, checkURLFlag(key, values[key]))
	}
	return errors.Join(errs...)
}

func declareDashboards(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("dashboards", "Write the Grafana dashboards as JSON files into a folder.")
	folder := cmd.Arg("folder", "Existing folder.").Required().ExistingDir()
	label := cmd.Flag("cluster-label", "Label of the cluster in the queries; empty if no "+
		"series has one.").Default(dashboards.ClusterLabel).String()
	var chosen dashboards.Choices
	cmd.Flag("exporter-url", "Address of the exporter, to whose status pages and runbook the dashboards link, like "+
		"the value exporter of the rules.").PlaceHolder("URL").StringVar(&chosen.Exporter)
	cmd.Flag("runbook-url", "Address of your own runbook, like the value runbook "+
		"of the rules.").PlaceHolder("URL").StringVar(&chosen.Runbook)
	return cmd.FullCommand(), func() error {
		err := errors.Join(
			checkURLFlag("--exporter-url", chosen.Exporter),
			checkURLFlag("--runbook-url", chosen.Runbook),
		)
		if err != nil {
			return exitError{err, exitUsage}
		}
		if err := dashboards.Write(*folder, *label, &chosen); err != nil {
			return err
		}
		_, err = fmt.Fprintf(out.stdout, "%s written to %s\n", count(len(dashboards.All()), "dashboard"), *folder)
		return err
	}
}

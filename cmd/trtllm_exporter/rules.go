package main

import (
	"fmt"
	"os"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

// declareRules declares the subcommand that prints rules for Prometheus.
func declareRules(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("rules", "Print recording rules and alerts for Prometheus.")
	file := cmd.Flag("values", "File with thresholds that override the default ones.").PlaceHolder("FILE").String()
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
		return printRules(out, *file)
	}
}

// printRules prints the rules with the thresholds of a file, if there is one.
func printRules(out *output, file string) error {
	var text []byte
	if file != "" {
		var err error
		if text, err = os.ReadFile(file); err != nil {
			return fmt.Errorf("--values: %w", err)
		}
	}
	values, err := alerts.ParseValues(text)
	if err != nil {
		return fmt.Errorf("--values %s: %w", file, err)
	}
	rules, err := alerts.Render(values)
	if err != nil {
		return err
	}
	_, err = out.stdout.Write(rules)
	return err
}

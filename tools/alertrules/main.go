// Command alertrules writes the rules with default values. It is run by go generate.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "alertrules:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

func run(args []string) error {
	if len(args) != 1 {
		return errors.New("usage: alertrules FILE")
	}
	values, err := alerts.DefaultValues()
	if err != nil {
		return err
	}
	text, err := alerts.Render(values)
	if err != nil {
		return err
	}
	return os.WriteFile(args[0], text, 0o600)
}

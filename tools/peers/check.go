package main

import (
	"fmt"
	"slices"
	"strings"
)

// identity are the labels that each series must have.
//
//nolint:gochecknoglobals // constant data.
var identity = []string{"engine", "engine_version", "trtllm_version", "pool_id", "replica_id"}

// check says what is wrong with a page.
func check(page string, targets int) error {
	if count := strings.Count("\n"+page, "\n"+ofServers); count != targets*samples {
		return fmt.Errorf("%d samples, not %d", count, targets*samples)
	}
	replicas := make(map[string]bool)
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, ofServers) {
			continue
		}
		for _, label := range identity {
			if value := labelOf(line, label); value == "" {
				return fmt.Errorf("no %s on %s", label, line)
			}
		}
		if labelOf(line, "model") != "" && labelOf(line, "model_id") == "" {
			return fmt.Errorf("no model_id on %s", line)
		}
		replicas[labelOf(line, "replica_id")] = true
	}
	if len(replicas) != targets {
		return fmt.Errorf("%d replicas, not %d", len(replicas), targets)
	}
	return nil
}

// labelOf is the value of a label on a line, empty for none.
func labelOf(line, label string) string {
	for _, before := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(line, before+label+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

// checkPicked says what is wrong with a page of the families that a picker reads.
func checkPicked(page string, targets int) error {
	for _, family := range picked {
		replicas := make(map[string]bool)
		for line := range strings.Lines(page) {
			if strings.HasPrefix(line, family+"{") {
				replicas[labelOf(line, "replica_id")] = true
			}
		}
		if len(replicas) != targets {
			return fmt.Errorf("%s of %d replicas, not of %d", family, len(replicas), targets)
		}
	}
	for line := range strings.Lines(page) {
		if name, _, _ := strings.Cut(line, "{"); !strings.HasPrefix(line, "#") && !slices.Contains(picked, name) {
			return fmt.Errorf("%s was not asked for", name)
		}
	}
	return nil
}

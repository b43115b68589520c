package main

import (
	"fmt"
	"slices"
	"strings"
)

// identity lists the labels that every series must have.
//
//nolint:gochecknoglobals // constant data.
var identity = []string{"engine", "engine_version", "trtllm_version", "pool_id", "replica_id"}

// check returns an error if a page lacks series or labels.
func check(page string, targets int) error {
	if count := strings.Count("\n"+page, "\n"+samplePrefix); count != targets*samplesPerTarget {
		return fmt.Errorf("%d samples, not %d", count, targets*samplesPerTarget)
	}
	replicas := make(map[string]bool)
	for line := range strings.Lines(page) {
		if !strings.HasPrefix(line, samplePrefix) {
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

// labelOf returns the value of a label on a line, empty if there is none.
func labelOf(line, label string) string {
	for _, separator := range []string{"{", ","} {
		if _, rest, ok := strings.Cut(line, separator+label+`="`); ok {
			value, _, _ := strings.Cut(rest, `"`)
			return value
		}
	}
	return ""
}

// checkPicked returns an error unless a page has exactly the families that a picker reads.
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

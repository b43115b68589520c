package main

import (
	"fmt"
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

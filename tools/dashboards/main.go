// Command dashboards writes the dashboards as JSON into a folder.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/trtllm-exporter/trtllm_exporter/dashboards"
)

func main() {
	if err := write(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "dashboards:", err)
		os.Exit(1) //nolint:forbidigo // This is a main of its own.
	}
}

// write writes all dashboards.
func write(args []string) error {
	if len(args) < 1 || len(args) > 3 {
		return fmt.Errorf("usage: dashboards FOLDER [CLUSTER_LABEL [CHOICES]], got %d arguments", len(args))
	}
	label := dashboards.ClusterLabel
	if len(args) > 1 {
		label = args[1]
	}
	var chosen dashboards.Choices
	if len(args) > 2 {
		if err := json.Unmarshal([]byte(args[2]), &chosen); err != nil {
			return fmt.Errorf("choices: %w", err)
		}
	}
	return dashboards.Write(args[0], label, &chosen)
}

package config_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
)

// TestMistakesOfAllPoolsAreTold makes every mistake about keys of a pool in one document, each in a
// pool of its own.
func TestMistakesOfAllPoolsAreTold(t *testing.T) {
	t.Chdir("testdata")
	var text strings.Builder
	var want []string
	text.WriteString("pools:\n")
	for i, m := range slices.Concat(poolMistakes, clientMistakes, canaryMistakes, limitMistakes) {
		pool := strings.TrimPrefix(inPool(m.text), "pools:\n")
		pool = strings.Replace(pool, "llama", fmt.Sprintf("p%d", i), 1)
		text.WriteString(strings.Replace(pool, "10.0.0.1", fmt.Sprintf("h%d", i), 1))
		for line := range strings.Lines(strings.Trim(m.want, "\n")) {
			line = withoutLines(line)
			if !strings.HasPrefix(line, "global.window") { // Of several pools, it names the slowest.
				want = append(want, strings.ReplaceAll(line, "pools[0]", fmt.Sprintf("pools[%d]", i)))
			}
		}
	}
	_, err := config.Parse("config.yml", []byte(text.String()))
	require.Error(t, err)
	var got []string
	for line := range strings.Lines(err.Error()) {
		got = append(got, withoutLines(strings.TrimPrefix(line, "config.yml: ")))
	}
	got = slices.DeleteFunc(got, func(line string) bool { return strings.HasPrefix(line, "global.window") })
	require.Equal(t, want, got)
}

// withoutLines returns a line of an error without numbers of lines.
func withoutLines(line string) string {
	return regexp.MustCompile(`^line \d+: | on line \d+`).ReplaceAllString(strings.TrimSpace(line), "")
}

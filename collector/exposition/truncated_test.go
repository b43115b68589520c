package exposition_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestTruncatedPageIsDetected(t *testing.T) {
	t.Parallel()
	const complete = "# TYPE a counter\na{m=\"x\"} 1\na{m=\"y\"} 20\n# TYPE b gauge\nb{m=\"x\"} NaN\n" +
		"b{m=\"y\"} -1.5e3\n# TYPE c gauge\nc{m=\"x\"} 3\nc{m=\"y\"} 3\n"
	lines := strings.SplitAfter(complete, "\n")
	upTo := func(n int) string { return strings.Join(lines[:n], "") }
	for _, c := range []struct {
		name, body string
		samples    int
		begins     bool
	}{
		{"the whole page", complete, 0, false},
		{"all but the last family", upTo(6), 4, true},
		{"without the last sample, but with its TYPE", upTo(7), 4, true},
		{"an end in a family", upTo(5), 3, true},
		{
			"other values, longer and shorter",
			strings.NewReplacer("20", "7", "NaN", "123456789").Replace(upTo(5)),
			3, true,
		},
		{"all but the last series of the last family", complete[:len(complete)-len("c{m=\"y\"} 3\n")], 0, false},
		{"only the head of the first family", upTo(1), 0, true},
		{"a removed model", lines[0] + lines[1] + lines[3] + lines[4] + lines[6] + lines[7], 0, false},
		{"a removed family in the middle", upTo(3) + lines[6] + lines[7], 0, false},
		{"a new family at the beginning", "# TYPE z gauge\nz 1\n" + upTo(5), 0, false},
		{"a different end", upTo(5) + "d 1\n", 0, false},
		{"an invalid value", strings.Replace(upTo(5), "20", "x", 1), 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			cache := exposition.NewCache(exposition.Options{})
			_, begins := cache.Truncated([]byte(c.body))
			require.False(t, begins, "there is no page yet")
			for _, label := range []string{"m=", "gpu_uuid="} {
				_, err := cache.Parse([]byte(strings.ReplaceAll(complete, "m=", label)), "", nil)
				require.NoError(t, err)
				samples, begins := cache.Truncated([]byte(strings.ReplaceAll(c.body, "m=", label)))
				require.Equal(t, c.begins, begins)
				if begins {
					require.Equal(t, c.samples, samples)
				}
			}
		})
	}
}

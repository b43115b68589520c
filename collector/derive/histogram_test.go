package derive

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

func TestHistogramsGrow(t *testing.T) {
	for _, tc := range []struct {
		name, first, second, sum, count string
		want                            bool
	}{
		{"buckets that grow", "1", "2", "3.5", "2", true},
		{"buckets that stay", "5", "5", "3.5", "5", true},
		{"more digits are more", "9", "10", "0", "10", true},
		{"fractions of zeros", "5.0", "12.0", "1e3", "12.0", true},
		{"nothing observed", "0", "0.0", "0.0", "0", true},
		{"buckets that fall", "10", "9", "1", "10", false},
		{"exponents count", "1e3", "999", "1", "1000", false},
		{"a count below its buckets", "1", "2", "1", "1", false},
		{"a sum that is no number", "1", "2", "NaN", "2", false},
		{"a sum below 0", "1", "2", "-1", "2", false},
		{"a bucket without end", "1", "+Inf", "1", "2", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			cache := exposition.NewCache(exposition.Options{Watch: func(string) bool { return true }})
			page, err := cache.Parse(fmt.Appendf(nil, "# TYPE h histogram\nh_bucket{le=\"1\"} %s\nh_bucket{le=\"+Inf\"} %s\nh_sum %s\nh_count %s\n", tc.first, tc.second, tc.sum, tc.count), "")
			require.NoError(t, err)
			h := passedHistogram{}
			for i := range page.Shape().Watched() {
				h.places = append(h.places, page.Shape().Place(i))
			}
			require.Equal(t, tc.want, h.grows(page))
		})
	}
}

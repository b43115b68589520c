package web_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

func TestAThousandReplicasStaySmallAndReadable(t *testing.T) {
	for _, c := range []struct {
		name  string
		pools int
		of    func(i int) target.Status
		paths []string
	}{
		{"of few pools", 4, mixed, []string{"/", "/?pool=pool-with-a-usual-name-1", "/?state=ok", "/?state=ok&from=150", "/?q=llama"}},
		{"with a pool for each", 1000, mixed, []string{"/", "/?state=broken"}},
		{"of which none serves, each for a reason of its own", 4, func(i int) target.Status {
			return verdict("down", "broken", "LLMReplicaDown", fmt.Sprint("reason ", i, strings.Repeat(" and so on", 200)))
		}, []string{"/", "/?state=down"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := crowd(t, c.pools, c.of)
				// Ten minutes of samples, though nothing new is published.
				h := followed(t, f.options(), 10*time.Minute, func(int) {})
				for _, path := range c.paths {
					page := get(h, path).Body
					require.Less(t, page.Len(), 500_000, path)
					require.LessOrEqual(t, strings.Count(page.String(), "<li>"), 20, path)
				}
			})
		})
	}
}

func TestHealthyReplicasOfALargeFleetAreFolded(t *testing.T) {
	f := crowd(t, 4, mixed)
	h := handler(t, f.options())

	page := get(h, "/").Body.String()
	require.LessOrEqual(t, len(names(page)), 60)
	require.Contains(t, plainText(page), "920 of 1 000 replicas serve: 20 are down, 20 are failing, 20 fail canary requests, 20 differ, 20 were not tried yet.")
	require.Regexp(t, `href="\?pool=pool-with-a-usual-name-\d">2\d\d more replicas`, page)

	page = get(handler(t, crowd(t, 100, mixed).options()), "/").Body.String()
	require.NotContains(t, page, `"pill ok"`, "of many pools only what is wrong has rows")
	require.Equal(t, 101, strings.Count(page, "<h2>")+strings.Count(part(t, page, `<table class="pools">`, "</table>"), `<th scope="row">`))

	var all []string
	next := "/?pool=pool-with-a-usual-name-2"
	for next != "" {
		page := get(h, next).Body.String()
		all = append(all, names(page)...)
		next = ""
		if m := regexp.MustCompile(`href="(\?[^"]*)" rel="next"`).FindStringSubmatch(page); m != nil {
			next = "/" + strings.ReplaceAll(m[1], "&amp;", "&")
		}
	}
	require.Len(t, all, 250, "the pool's own pages have all of them")
	seen := map[string]bool{}
	for _, name := range all {
		require.False(t, seen[name], name)
		seen[name] = true
	}
}

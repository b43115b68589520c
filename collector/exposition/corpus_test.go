package exposition_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// pagesUnder returns the text pages in a folder of the corpora by path.
func pagesUnder(tb testing.TB, folder string) map[string]string {
	tb.Helper()
	root := shared(tb, folder)
	pages := make(map[string]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		switch ext := filepath.Ext(path); {
		case strings.HasSuffix(path, ".source.txt"), strings.Contains(path, "RESULTS_"):
			return nil
		case folder == "samples" && ext != ".prom":
			return nil
		case ext != ".prom" && ext != ".txt" && ext != ".out" && !strings.Contains(path, "fuzz"):
			return nil
		}
		body, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		pages[name] = string(body)
		return err
	})
	require.NoError(tb, err)
	require.NotEmpty(tb, pages)
	return pages
}

// typeOf returns the content type of a page of the corpora.
func typeOf(name, body string) string {
	if strings.Contains(name, ".om.") || strings.HasSuffix(strings.TrimRight(body, "\n"), "# EOF") {
		return openMetrics
	}
	return ""
}

// valueOfLine matches the value of a sample line. Its digits after the first may change.
var valueOfLine = regexp.MustCompile(`(?m)^([a-zA-Z_:][^\n]*[ }])(\d+)$`)

// otherValues returns the page with every integer value changed.
func otherValues(body string) string {
	return valueOfLine.ReplaceAllString(body, "${1}7$2")
}

func TestCapturedPagesKeepEverySample(t *testing.T) {
	t.Parallel()
	for _, folder := range []string{"samples", "corpora/expositions"} {
		for name, body := range pagesUnder(t, folder) {
			t.Run(folder+"/"+name, func(t *testing.T) {
				t.Parallel()
				contentType := typeOf(name, body)
				want, err := readings([]byte(body), contentType)
				if err != nil {
					_, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, contentType)
					require.Error(t, err, "what textparse refuses we refuse")
					return
				}
				requireSameSamples(t, want, body, contentType)
				requireFastAsSlow(t, body, contentType)
			})
		}
	}
}

// requireSameSamples compares the re-exposed page with the samples of the source.
func requireSameSamples(t *testing.T, want []string, body, contentType string) {
	t.Helper()
	b, err := parseWith(t, exposition.NewCache(exposition.Options{}), body, contentType)
	require.NoError(t, err)
	drops := dropped(b.Shape().Drops())
	if len(drops) == 0 {
		requireReadable(t, want, render(t, &exposition.Merger{}, b))
		return
	}
	// Malformed pages lose series; the others stay as in the source.
	lost := 0
	for _, n := range drops {
		lost += n
	}
	page := render(t, &exposition.Merger{}, b)
	got, err := readings([]byte(page), "")
	require.NoError(t, err)
	require.Len(t, got, len(want)-lost)
	for _, one := range got {
		require.Contains(t, want, one)
	}
	requireReadable(t, got, page)
	t.Logf("dropped %v", drops)
}

// mustReadings returns the samples of a valid page.
func mustReadings(t *testing.T, page string) []string {
	t.Helper()
	got, err := readings([]byte(page), "")
	require.NoError(t, err)
	return got
}

// requireFastAsSlow compares the fast path with the slow one, for the same body and for
// one with other values.
func requireFastAsSlow(t *testing.T, body, contentType string) {
	t.Helper()
	c, label := exposition.NewCache(exposition.Options{}), new(exposition.Labeler(identify))
	_, err := parseWith(t, c, body, contentType, label)
	require.NoError(t, err)
	for _, next := range []string{body, otherValues(body)} {
		fast := c.Fast(next)
		warm, err := parseWith(t, c, next, contentType, label)
		require.NoError(t, err)
		cold, err := parseWith(t, exposition.NewCache(exposition.Options{}), next, contentType, label)
		require.NoError(t, err)
		requireSamePage(t, render(t, &exposition.Merger{}, cold), render(t, &exposition.Merger{}, warm))
		require.Equal(t, cold.Shape().Drops(), warm.Shape().Drops())
		// Timestamps must not change.
		require.True(t, fast || warm.Shape().Drops().Timestamps > 0, "fast %t, dropped %+v", fast, warm.Shape().Drops())
	}
}

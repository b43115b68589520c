package assess

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestModelStateFromIndexAndPage(t *testing.T) {
	for _, c := range []struct {
		name, index   string
		loaded, known bool
		want          string
	}{
		{"index and page agree", "READY", true, true, "ready"},
		{"the page is not known", "READY", false, false, "ready"},
		{"the page lost its core series", "READY", false, true, "unavailable"},
		{"it loads, so the page has none yet", "LOADING", false, true, "loading"},
		{"it unloads, with all its series", "UNLOADING", true, true, "unloading"},
		{"removed, with an older page", "UNAVAILABLE", true, true, "unavailable"},
		{"only the page speaks", "", true, true, "ready"},
		{"only on the page", "", false, true, "unavailable"},
		{"nothing is known", "", false, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.Equal(t, c.want, modelState(c.index, c.loaded, c.known))
		})
	}
}

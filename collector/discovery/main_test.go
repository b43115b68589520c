package discovery_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/common/promslog"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
	"gopkg.in/yaml.v3"

	"github.com/trtllm-exporter/trtllm_exporter/collector/discovery"
	"github.com/trtllm-exporter/trtllm_exporter/collector/secret"
)

// ample is how long tests wait at most: no machine is that busy.
const ample = 10 * time.Minute

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// config decodes a configuration strictly, like a file.
func config(tb testing.TB, text string) discovery.Config {
	tb.Helper()
	c, err := decode(text)
	require.NoError(tb, err)
	require.NoError(tb, c.Validate())
	return c
}

func decode(text string) (discovery.Config, error) {
	dec := yaml.NewDecoder(strings.NewReader(text))
	dec.KnownFields(true)
	var c discovery.Config
	err := dec.Decode(&c)
	return c, err
}

// seen holds the reports of a Manager.
type seen struct {
	*discovery.Manager

	mu      sync.Mutex
	updates [][]string
	// names holds the names of the groups of the latest report.
	names []string
}

// add records a report, a line per target: its address and the labels that are not from its
// source.
func (s *seen) add(groups []*targetgroup.Group) {
	lines, names := []string{}, []string{}
	for _, g := range groups {
		names = append(names, g.Source)
		for _, target := range g.Targets {
			all := g.Labels.Merge(target)
			delete(all, model.AddressLabel)
			for name := range all {
				if strings.HasPrefix(string(name), "__meta_") && name != "__meta_dns_name" {
					delete(all, name)
				}
			}
			lines = append(lines, string(target[model.AddressLabel])+all.String())
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates, s.names = append(s.updates, lines), names
}

// last returns the newest report, nil before the first.
func (s *seen) last() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.updates) == 0 {
		return nil
	}
	return s.updates[len(s.updates)-1]
}

func (s *seen) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// wait waits for a report of exactly these targets.
func (s *seen) wait(tb testing.TB, want ...string) {
	tb.Helper()
	require.Eventually(
		tb,
		func() bool { return s.last() != nil && slices.Equal(s.last(), want) },
		ample,
		5*time.Millisecond,
		"want %q",
		want,
	)
}

// requireError waits until the latest error of a source has these texts: a source whose answer comes too late on a
// busy machine has another one before.
func requireError(tb testing.TB, m *discovery.Manager, source int, want ...string) {
	tb.Helper()
	got := latest(func() string { return m.Sources()[source].LastError })
	has := func() bool {
		shown := got()
		return shown != "" && !slices.ContainsFunc(want, func(text string) bool { return !strings.Contains(shown, text) })
	}
	require.Eventually(tb, has, ample, 5*time.Millisecond, "want %q, got %s", want, got)
}

// latest is a text that a failure shows as it is then.
type latest func() string

// String implements fmt.Stringer.
func (l latest) String() string { return l() }

// start runs the discovery of a configuration until the test ends.
func start(tb testing.TB, text string) *seen {
	tb.Helper()
	m, err := discovery.New(config(tb, text), new(secret.Store), promslog.NewNopLogger())
	require.NoError(tb, err)
	s := &seen{Manager: m}
	done := make(chan struct{})
	go func() {
		defer close(done)
		m.Run(tb.Context(), s.add)
	}()
	tb.Cleanup(func() { <-done }) // The context of the test has ended.
	return s
}

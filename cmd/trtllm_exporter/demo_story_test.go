package main

import (
	"bytes"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func TestTheAddressStaysTheLastLineOfTheTerminal(t *testing.T) {
	t.Setenv("COLUMNS", "80")
	var out bytes.Buffer
	s := &screen{lines: &out, log: &out, terminal: true}
	const footer = "Look: http://127.0.0.1:9802/   Ctrl-C stops"
	s.open("where to look", footer)
	s.println("0:30 a replica fails.")
	_, err := s.Write([]byte("time=now level=WARN msg=" + strings.Repeat("word ", 30) + "\n"))
	require.NoError(t, err)
	require.True(t, strings.HasSuffix(out.String(), footer))
	for part := range strings.SplitSeq(out.String(), "\r\x1b[K") {
		for line := range strings.Lines(part) {
			require.LessOrEqual(t, len(line), 81, line)
		}
	}
	require.Equal(t, 2, strings.Count(out.String(), footer+"\r\x1b[K"), "it is wiped before each line")
	s.close()
	require.True(t, strings.HasSuffix(out.String(), footer+"\n"))
}

func TestAPipeGetsLinesOnly(t *testing.T) {
	var out bytes.Buffer
	s := newScreen(&out, &out)
	s.open("where to look", "Look: http://127.0.0.1:9802/")
	s.println("0:30 a replica fails.")
	s.close()
	require.Equal(t, "where to look\n0:30 a replica fails.\n", out.String())
}

func TestEveryFaultHappensToAReplicaOfAnyFleet(t *testing.T) {
	for _, replicas := range []int{1, 2, 6, 7} {
		fleet := demoFleet(replicas, 0)
		got := 0
		for _, p := range fleet.Pools {
			got += len(p.Replicas)
		}
		require.Equal(t, replicas, got)
		started, err := simulate.StartFleet(t.Context(), fleet)
		require.NoError(t, err)
		s := newStory(started, nil, nil)
		for _, f := range faults() {
			r := s.victim(&f)
			before := r.Spec()
			f.begin(r)
			f.end(r)
			require.Equal(t, before.TRTLLMVersion, r.Spec().TRTLLMVersion, "%s is undone", f.name)
			require.Contains(t, faultNames(), f.name)
		}
		started.Close()
	}
}

func TestTheGuideFitsATerminal(t *testing.T) {
	fleet, err := simulate.StartFleet(t.Context(), demoFleet(6, 0))
	require.NoError(t, err)
	defer fleet.Close()
	text := guide("127.0.0.1:19802", fleet, &demoFlags{})
	require.Less(t, strings.Count(text, "\n"), 12)
	for line := range strings.Lines(text) {
		require.LessOrEqual(t, len(line), 81, line)
	}
}

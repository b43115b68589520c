package collector_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// faultsRun is what a run of the tests of the list found, by test or case of one
// as room.Test/case: how it ended, what it said of codes, and its output.
type faultsRun struct {
	ended  map[string]string
	said   map[string]map[string][]string
	output map[string][]string
}

// readFaultsRun reads what `go test -json` wrote.
func readFaultsRun(t *testing.T, file string) *faultsRun {
	t.Helper()
	in, err := os.Open(file)
	require.NoError(t, err)
	defer in.Close()
	run := &faultsRun{ended: map[string]string{}, said: map[string]map[string][]string{}, output: map[string][]string{}}
	for lines := bufio.NewReader(in); ; {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			return run
		}
		var event struct{ Action, Package, Test, Output, Key, Value string }
		if json.Unmarshal(line, &event) != nil {
			continue
		}
		name := path.Base(event.Package) + "." + event.Test
		switch event.Action {
		case "pass", "fail", "skip":
			run.ended[name] = event.Action
		case "attr":
			if run.said[name] == nil {
				run.said[name] = make(map[string][]string)
			}
			run.said[name][event.Key] = append(run.said[name][event.Key], event.Value)
		case "output":
			run.output[name] = append(run.output[name], event.Output)
		}
	}
}

// result is what was found of a code by a test of the list: that of the cases
// with the code in their names, or of all of it where none has. Holds is false
// where one of them failed or the test did not run.
func (r *faultsRun) result(of, test string) (said []string, holds, ran bool) {
	named := func(name string) bool {
		rest, ok := strings.CutPrefix(name, test+"/")
		return ok && slices.Contains(code.FindAllString(rest, -1), of)
	}
	cases := false
	for name := range r.ended {
		cases = cases || named(name)
	}
	holds, ran = r.ended[test] != "", r.ended[test] == "pass" || r.ended[test] == "fail"
	for name, ended := range r.ended {
		if name != test && !strings.HasPrefix(name, test+"/") || cases && name != test && !named(name) {
			continue
		}
		holds = holds && (ended != "fail" || cases && name == test)
		said = append(said, r.said[name][of]...)
		for _, reason := range r.said[name]["reason"] {
			said = append(said, fmt.Sprintf("reason %#q", reason))
		}
	}
	return said, holds, ran
}

// TestResultsOfFaultsAreWritten writes the last column of the list from the run
// that FAULTS_RUN names, and fails unless all that was checked holds.
func TestResultsOfFaultsAreWritten(t *testing.T) {
	t.Parallel()
	file := os.Getenv("FAULTS_RUN")
	if file == "" {
		t.Skip("make faults runs it")
	}
	run := readFaultsRun(t, file)
	text, err := os.ReadFile(faultList)
	require.NoError(t, err)
	var out strings.Builder
	cases, holding := 0, 0
	for line := range strings.Lines(string(text)) {
		if row := rowOfList.FindStringSubmatch(strings.TrimSpace(line)); row != nil {
			cases++
			result, holds := run.row(row[1], strings.Split(strings.Trim(row[4], "`"), "`, `"))
			if holds {
				holding++
			}
			line = fmt.Sprintf("| %s | %s | %s | %s | %s |\n", row[1], row[2], row[3], row[4], result)
		}
		out.WriteString(line)
	}
	require.NoError(t, os.WriteFile(faultList, []byte(out.String()), 0o600))
	fmt.Printf("%d of %d cases hold\n", holding, cases)
	for name, ended := range run.ended {
		if ended == "fail" {
			t.Errorf("%s\n%s", name, strings.Join(run.output[name], ""))
		}
	}
	require.Equal(t, cases, holding)
}

// row is the result of a code by its tests.
func (r *faultsRun) row(of string, tests []string) (result string, holds bool) {
	var said []string
	holds = true
	checked := false
	for _, test := range tests {
		some, good, ran := r.result(of, test)
		said, holds, checked = append(said, some...), holds && good, checked || ran
	}
	slices.Sort(said)
	said = slices.Compact(said)
	whole := strings.Join(said, " ")
	said = slices.DeleteFunc(said, func(one string) bool {
		reason, ok := strings.CutPrefix(one, "reason ")
		return ok && strings.Contains(whole, fmt.Sprintf("reason=%q", strings.Trim(reason, "`")))
	})
	switch {
	case !holds:
		return "**does not hold**", false
	case !checked:
		return "not checked on this machine", false
	}
	return strings.Join(append([]string{"holds"}, said...), "; "), true
}

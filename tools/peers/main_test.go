package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const labels = `engine="triton",engine_version="2",trtllm_version="1",pool_id="bench",replica_id="r"`

func TestPagesThatMissSomethingAreRefused(t *testing.T) {
	t.Parallel()
	line := `nv_x{` + labels + `,model="m",model_id="m"} 1` + "\n"
	whole := strings.Repeat(line, samples)
	for name, c := range map[string]struct{ page, wrong string }{
		"whole":                  {whole, ""},
		"others are not counted": {whole + "up 1\n", ""},
		"a sample is missing":    {whole[len(line):], "225 samples"},
		"a label is missing":     {strings.Replace(whole, `pool_id="bench",`, "", 1), "no pool_id"},
		"no model_id":            {strings.Replace(whole, `,model_id="m"`, "", 1), "no model_id"},
		"two replicas":           {strings.Replace(whole, `replica_id="r"`, `replica_id="s"`, 1), "2 replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := check(c.page, 1)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestChartHasAllPeers(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	from, to := filepath.Join(dir, "results"), filepath.Join(dir, "chart.svg")
	rows := `{"Peer":"a","Targets":1,"Scrape":1,"Gzip":1,"Peak":1000000}
{"Peer":"b","Targets":1000,"Scrape":30,"Gzip":1,"Peak":900000000}
`
	if err := os.WriteFile(from, []byte(rows), 0o600); err != nil {
		t.Fatal(err)
	}
	all, err := load([]string{from})
	if err != nil {
		t.Fatal(err)
	}
	if err := draw(to, all); err != nil {
		t.Fatal(err)
	}
	svg, err := os.ReadFile(to)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{">a</text>", ">b</text>", ">1000</text>"} {
		if !strings.Contains(string(svg), part) {
			t.Errorf("no %s", part)
		}
	}
}

func TestReportReplacesWhatIsBetweenItsMarks(t *testing.T) {
	t.Parallel()
	name := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(name, []byte("before\n"+begins+"old\n"+ends+"after\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	all := []result{
		{Peer: "a", Targets: 10, Interval: 1e9, Scrape: 0.5, Gzip: 0.5, Version: "1"},
		{Peer: "b", Targets: 10, Interval: 1e9, Scrape: 4, Gzip: 1, Version: "2", Pick: 12, PickP50: 1e6, PickP99: 2e6},
		{Peer: "a", Targets: 100, Interval: 1e9, Scrape: 1, Gzip: 1, Version: "1"},
	}
	for range 2 {
		if err := report(name, all); err != nil {
			t.Fatal(err)
		}
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"before\n" + begins, ends + "after\n", "| a | 10 | 1 | 0.50 | 0.00 | 0.50 | 1.00 |", "| 12 | 1.0 / 2.0 |\n",
		"- 10 targets each 1 s: the a took 5.0 times less than b.\n", "Measured: a (1); b (2).\n",
	} {
		if strings.Count(string(text), part) != 1 {
			t.Errorf("not once: %q in %s", part, text)
		}
	}
	if strings.Contains(string(text), "old") || strings.Contains(string(text), "- 100 targets") {
		t.Error(string(text))
	}
	if err := os.WriteFile(name, []byte("before\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if report(name, all) == nil {
		t.Error("a document without marks was taken")
	}
}

func TestPickedPagesThatMissOrAddSomethingAreRefused(t *testing.T) {
	t.Parallel()
	var whole strings.Builder
	for _, family := range picked {
		whole.WriteString("# TYPE " + family + " gauge\n" + family + "{" + labels + "} 1\n")
	}
	for name, c := range map[string]struct{ page, wrong string }{
		"whole":                 {whole.String(), ""},
		"a family is missing":   {strings.ReplaceAll(whole.String(), picked[2], picked[1]), picked[2] + " of 0"},
		"a family is too many":  {whole.String() + "nv_x{" + labels + "} 1\n", "nv_x was not asked for"},
		"two replicas, not one": {whole.String() + picked[0] + "{replica_id=\"s\"} 1\n", "of 2 replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := checkPicked(c.page, 1)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Fatalf("%v", err)
			}
		})
	}
}

func TestWaysAreChosenByPartsOfTheirNames(t *testing.T) {
	t.Parallel()
	for only, want := range map[string]bool{"": true, "exp": true, "go,exp": true, "go,fed": false} {
		if chosen("exporter", only) != want {
			t.Error(only)
		}
	}
}

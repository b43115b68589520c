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
	if err := draw(to, []string{from}); err != nil {
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

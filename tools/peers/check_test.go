package main

import (
	"strings"
	"testing"
)

const labels = `engine="triton",engine_version="2",trtllm_version="1",pool_id="bench",replica_id="r"`

func TestIncompletePagesAreRefused(t *testing.T) {
	t.Parallel()
	line := `nv_x{` + labels + `,model="m",model_id="m"} 1` + "\n"
	complete := strings.Repeat(line, samplesPerTarget)
	var few strings.Builder
	for _, family := range picked {
		few.WriteString("# TYPE " + family + " gauge\n" + family + "{" + labels + "} 1\n")
	}
	for name, c := range map[string]struct {
		check       func(page string, targets int) error
		page, wrong string
	}{
		"whole":                  {check, complete, ""},
		"others are not counted": {check, complete + "up 1\n", ""},
		"a sample is missing":    {check, complete[len(line):], "225 samples"},
		"a label is missing":     {check, strings.Replace(complete, `pool_id="bench",`, "", 1), "no pool_id"},
		"no model_id":            {check, strings.Replace(complete, `,model_id="m"`, "", 1), "no model_id"},
		"two replicas":           {check, strings.Replace(complete, `replica_id="r"`, `replica_id="s"`, 1), "2 replicas"},
		"picked, whole":          {checkPicked, few.String(), ""},
		"a family is missing":    {checkPicked, strings.ReplaceAll(few.String(), picked[2], picked[1]), picked[2] + " of 0"},
		"a family is too many":   {checkPicked, few.String() + "nv_x{" + labels + "} 1\n", "nv_x was not asked for"},
		"two replicas, not one":  {checkPicked, few.String() + picked[0] + "{replica_id=\"s\"} 1\n", "of 2 replicas"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := c.check(c.page, 1)
			if (err == nil) != (c.wrong == "") || err != nil && !strings.Contains(err.Error(), c.wrong) {
				t.Fatalf("%v", err)
			}
		})
	}
}

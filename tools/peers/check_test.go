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
	for name, c := range map[string]struct{ page, wrong string }{
		"whole":                  {complete, ""},
		"others are not counted": {complete + "up 1\n", ""},
		"a sample is missing":    {complete[len(line):], "225 samples"},
		"a label is missing":     {strings.Replace(complete, `pool_id="bench",`, "", 1), "no pool_id"},
		"no model_id":            {strings.Replace(complete, `,model_id="m"`, "", 1), "no model_id"},
		"two replicas":           {strings.Replace(complete, `replica_id="r"`, `replica_id="s"`, 1), "2 replicas"},
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

package exposition_test

import (
	"fmt"
	"os"

	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// withReplica returns a labeler that attaches the name of a replica.
func withReplica(name string) exposition.Labeler {
	return func(lset labels.Labels) exposition.Labeled {
		return exposition.Labeled{Labels: labels.NewBuilder(lset).Set("replica_id", name).Labels(), Keep: true}
	}
}

// A page that differs from the previous one in values only has the same shape. Malformed series are
// dropped and counted.
func ExampleCache_Parse() {
	cache, label := exposition.NewCache(exposition.Options{}), withReplica("r0")
	var shape *exposition.Shape
	for _, page := range []string{
		"# TYPE requests_total counter\nrequests_total{model=\"a\"} 3\nrequests_total{model=\"a\"} 4\n",
		"# TYPE requests_total counter\nrequests_total{model=\"a\"} 5\nrequests_total{model=\"a\"} 6\n",
	} {
		block, err := cache.Parse([]byte(page), "text/plain; version=0.0.4", &label)
		if err != nil {
			fmt.Println(err)
			return
		}
		value, _ := block.Value(0)
		fmt.Println(block.Shape().Labels(0), value, shape == block.Shape())
		shape = block.Shape()
	}
	drops := shape.Drops()
	fmt.Println("dropped:", drops.Total())
	// Output:
	// {__name__="requests_total", model="a", replica_id="r0"} 3 false
	// {__name__="requests_total", model="a", replica_id="r0"} 5 true
	// dropped: 1
}

// The pages of two targets are merged into one.
func ExampleMerger_Layout() {
	pages := []string{
		"# HELP queue_size Requests that wait.\n# TYPE queue_size gauge\nqueue_size 7\n# TYPE requests counter\n" +
			"requests 12\n",
		"# HELP queue_size Requests that wait.\n# TYPE queue_size gauge\nqueue_size 0\n",
	}
	var blocks []*exposition.Block
	for i, page := range pages {
		label := withReplica(fmt.Sprint("r", i))
		block, err := exposition.NewCache(exposition.Options{}).Parse([]byte(page), "text/plain", &label)
		if err != nil {
			fmt.Println(err)
			return
		}
		blocks = append(blocks, block)
	}
	var merger exposition.Merger
	if err := merger.Layout(blocks).WriteText(os.Stdout, blocks, nil); err != nil {
		fmt.Println(err)
	}
	// Output:
	// # HELP queue_size Requests that wait.
	// # TYPE queue_size gauge
	// queue_size{replica_id="r0"} 7
	// queue_size{replica_id="r1"} 0
	// # TYPE requests counter
	// requests{replica_id="r0"} 12
}

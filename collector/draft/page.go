package draft

import (
	"strings"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/model/labels"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
)

// family is what a page shows of the series of one name.
type family struct {
	name string
	typ  model.MetricType
	// values holds the values of each label, without those of buckets and quantiles.
	values map[string]map[string]bool
	// largest is the largest value of the samples.
	largest float64
}

// read returns the families of a page.
func read(page []byte) ([]family, error) {
	block, err := exposition.NewCache(exposition.Options{}).Parse(page, "", nil)
	if err != nil {
		return nil, err
	}
	shape := block.Shape()
	var all []family
	for _, f := range shape.Families() {
		read := family{name: f.Name, typ: f.Type, values: map[string]map[string]bool{}}
		first, end := f.Lines()
		for i := first; i < end; i++ {
			read.add(shape.Labels(i))
			if v, ok := block.Value(i); ok {
				read.largest = max(read.largest, v)
			}
		}
		all = append(all, read)
	}
	return all, nil
}

func (f *family) add(lset labels.Labels) {
	lset.Range(func(l labels.Label) {
		switch l.Name {
		case model.MetricNameLabel, model.BucketLabel, model.QuantileLabel:
			return
		}
		if f.values[l.Name] == nil {
			f.values[l.Name] = map[string]bool{}
		}
		f.values[l.Name][l.Value] = true
	})
}

// words returns the words of a name.
func words(name string) []string {
	return strings.FieldsFunc(strings.ToLower(name), func(r rune) bool { return r == '_' || r == ':' })
}

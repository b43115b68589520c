package alerts

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// slowest is the longest interval between two scrapes with which all rules work:
// the shortest windows and the time for which Prometheus shows a sample are five
// minutes, and take four scrapes.
const slowest = time.Minute

// whole are the values with those that follow from others: rate_window, over
// which rates are taken, evaluation_seconds, and cluster, the label with a comma.
func (v Values) whole() (Values, error) {
	scrape, err := v.duration("scrape_interval")
	if err != nil {
		return nil, err
	}
	if scrape > slowest {
		return nil, fmt.Errorf("scrape_interval: %s is longer than %s, and the rules need four scrapes in five minutes; scrape the exporter more often", v["scrape_interval"], model.Duration(slowest))
	}
	evaluation, err := v.duration("evaluation_interval")
	if err != nil {
		return nil, err
	}
	all := maps.Clone(v)
	all["rate_window"] = model.Duration(max(4*scrape, evaluation)).String()
	all["evaluation_seconds"] = strconv.FormatFloat(evaluation.Seconds(), 'g', -1, 64)
	label, there := v["cluster_label"]
	switch {
	case !there:
		return nil, errors.New("no value for ${cluster_label}")
	case label == "":
		all["cluster"] = ""
	case !model.LegacyValidation.IsValidLabelName(label):
		return nil, fmt.Errorf("cluster_label: %q is no name of a label; write it like cluster, or leave it empty", label)
	default:
		all["cluster"] = label + ", "
	}
	return all, nil
}

// duration reads a value that is a time longer than 0.
func (v Values) duration(key string) (time.Duration, error) {
	text, there := v[key]
	if !there {
		return 0, fmt.Errorf("no value for ${%s}", key)
	}
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q is not a time; write it like 15s", key, text)
	}
	return time.Duration(d), nil
}

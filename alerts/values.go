package alerts

import (
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/prometheus/common/model"
)

// maxScrapeInterval is the longest scrape interval that the rules support: the shortest windows
// and the staleness of samples are five minutes, which must contain four scrapes.
const maxScrapeInterval = time.Minute

// complete adds derived values: rate_window, the window of rates; evaluation_seconds; cluster, the
// cluster label with a comma; and the runbook that the exporter serves, if its address is known.
func (v Values) complete() (Values, error) {
	scrape, err := v.duration("scrape_interval")
	if err != nil {
		return nil, err
	}
	if scrape > maxScrapeInterval {
		return nil, fmt.Errorf("scrape_interval: %s is longer than %s, but the rules need four scrapes in five "+
			"minutes; scrape the exporter more often", v["scrape_interval"], model.Duration(maxScrapeInterval))
	}
	evaluation, err := v.duration("evaluation_interval")
	if err != nil {
		return nil, err
	}
	all := maps.Clone(v)
	all["rate_window"] = model.Duration(max(4*scrape, evaluation)).String()
	all["evaluation_seconds"] = strconv.FormatFloat(evaluation.Seconds(), 'g', -1, 64)
	if v["exporter"] != "" && v["runbook"] == "" {
		all["runbook"] = v["exporter"] + "/runbook"
	}
	label, exists := v["cluster_label"]
	switch {
	case !exists:
		return nil, errors.New("no value for ${cluster_label}")
	case label == "":
		all["cluster"] = ""
	case !model.LegacyValidation.IsValidLabelName(label):
		return nil, fmt.Errorf("cluster_label: %q is not a label name; write it like cluster, or leave it empty", label)
	default:
		all["cluster"] = label + ", "
	}
	return all, nil
}

// duration parses a value that is a positive duration.
func (v Values) duration(key string) (time.Duration, error) {
	text, exists := v[key]
	if !exists {
		return 0, fmt.Errorf("no value for ${%s}", key)
	}
	d, err := model.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, fmt.Errorf("%s: %q is not a duration; write it like 15s", key, text)
	}
	return time.Duration(d), nil
}

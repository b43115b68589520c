package account

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

func (b *builder) times() {
	f := b.figures
	f.FirstToken = b.distribution("ttft_seconds", engine.CanTTFT, firstTokens)
	f.OutputToken = b.distribution("tpot_seconds", engine.CanTPOT, outputTokens)
	f.InterToken = b.distribution("itl_seconds", engine.CanTPOT, interTokens)
	f.Queued = b.distribution("queue_seconds", engine.CanE2E, queueTimes)
	f.Whole = b.durations()
}

// distribution returns the mean and the percentiles of a histogram.
func (b *builder) distribution(figure, capability, family string) *Times {
	parts, ok := b.grown(family, engine.TierWorker)
	t := b.mean(figure, capability, parts[partSum], parts[partCount], ok)
	if t != nil {
		b.addPercentiles(t, figure, family, parts)
	}
	return t
}

// mean returns a mean without percentiles, nil if it is absent.
func (b *builder) mean(figure, capability string, sum, count float64, ok bool) *Times {
	switch {
	case b.whole != "" || b.why != "" || !ok:
		b.absent(figure, b.why, capability, noBuckets)
	case count <= 0:
		b.absent(figure, "", "", noneEnded)
	default:
		return &Times{Mean: sum / count, Count: count}
	}
	return nil
}

// durations returns the durations of requests, with percentiles if all models have histograms.
func (b *builder) durations() *Times {
	const figure = "e2e_seconds"
	seconds, count, ok := b.wholeDurations()
	t := b.mean(figure, engine.CanE2E, seconds, count, ok)
	switch parts, histograms := b.grown(wholeRequests, engine.TierWorker); {
	case t == nil:
	case histograms:
		b.addPercentiles(t, figure, wholeRequests, parts)
	default:
		b.absent(figure+"_percentiles", "", engine.CanQuantiles, notOnPage)
	}
	return t
}

// wholeDurations returns how long all requests took together. What models count is that only if the
// exporter takes it for the duration of whole requests, too.
func (v *view) wholeDurations() (seconds, count float64, ok bool) {
	ok = len(v.models) > 0
	for i := range v.models {
		m, parts := &v.models[i], make(map[string]float64)
		if m.addGrown(parts, wholeRequests, engine.TierWorker) {
			seconds, count = seconds+parts[partSum], count+parts[partCount]
			continue
		}
		one := &view{models: v.models[i : i+1], from: v.from, to: v.to}
		spent, counted := one.total(modelSeconds)
		m.addGrown(parts, requestsEnded, engine.TierWorker)
		seconds += spent
		count += parts[string(engine.ClassOK)] + parts[string(engine.ClassUnknown)]
		ok = ok && counted && len(one.tracks(engine.TierWorker, of(wholeKnown))) > 0
	}
	return seconds, count, ok
}

// addPercentiles adds the buckets of percentiles.
func (b *builder) addPercentiles(t *Times, figure, family string, parts map[string]float64) {
	bounds, why := b.bounds(family)
	if why != "" {
		b.figures.Absent[figure+"_percentiles"] = why
		return
	}
	t.Percentiles = percentiles(bounds, parts)
}

// percents are the percentiles of an account.
func percents() []int { return []int{50, 90, 95, 99} }

// percentiles returns the buckets of percentiles.
func percentiles(bounds []bound, parts map[string]float64) (all []Percentile) {
	for _, percent := range percents() {
		p, rank := Percentile{Percent: percent}, float64(percent)/100*parts[partCount]
		for _, bound := range bounds {
			if parts[bound.text] >= rank {
				if !math.IsInf(bound.value, 1) {
					p.UpTo = new(bound.value)
				}
				break
			}
			p.Above = bound.value
		}
		all = append(all, p)
	}
	return all
}

// bound is the upper bound of a bucket.
type bound struct {
	text  string
	value float64
}

// bounds returns the bounds that all replicas have of a histogram, in ascending order. Why says why there are none.
func (v *view) bounds(family string) (bounds []bound, why string) {
	var texts map[string]bool
	for i := range v.models {
		m := &v.models[i]
		for _, l := range m.counting(engine.TierWorker, func(l *ledger) bool { return l.has(family, m.id) }) {
			own := l.bounds(family, m.id)
			if texts != nil && !maps.Equal(texts, own) {
				return nil, "servers have different buckets"
			}
			texts = own
		}
	}
	for text := range texts {
		value, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Sprintf("%q is the bound of a bucket", text)
		}
		bounds = append(bounds, bound{text, value})
	}
	slices.SortFunc(bounds, func(a, b bound) int { return cmp.Compare(a.value, b.value) })
	if len(bounds) == 0 {
		return nil, "the page has no buckets of it"
	}
	return bounds, ""
}

// bounds returns the texts of the bounds of a histogram of a model.
func (l *ledger) bounds(family, model string) map[string]bool {
	all := make(map[string]bool)
	for _, c := range l.counters {
		if c.family == family && c.model == model && c.part != partSum && c.part != partCount {
			all[c.part] = true
		}
	}
	return all
}

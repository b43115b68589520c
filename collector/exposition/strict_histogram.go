package exposition

import (
	"errors"
	"math"
	"strconv"

	"github.com/prometheus/common/model"
)

var (
	errBuckets  = errors.New("buckets fall, or their bounds do")
	errLast     = errors.New("the bucket +Inf is missing, or is not the count")
	errSums     = errors.New("there is a sum without a count, or a count without a sum")
	errNegative = errors.New("there is a sum although observations may be negative, or the sum is negative although none can be")
)

// strictHistogram is one group of a histogram or gauge histogram while it is
// read.
type strictHistogram struct {
	any            bool
	buckets        int
	bound, value   float64
	negative       bool
	count          float64
	counted        bool
	summed, gauged bool
	sum            float64
}

// sample reads one sample of the group.
func (h *strictHistogram) sample(s *strictSample, suffix string) error {
	h.any = true
	switch suffix {
	case "_bucket":
		bound, _ := strconv.ParseFloat(s.labels.Get(model.BucketLabel), 64)
		if h.buckets > 0 && bound <= h.bound || s.value < h.value {
			return errBuckets
		}
		h.buckets, h.bound, h.value = h.buckets+1, bound, s.value
		h.negative = h.negative || bound < 0
	case "_count", "_gcount":
		h.count, h.counted = s.value, true
	case "_sum":
		h.summed = true
	case "_gsum":
		h.gauged, h.sum = true, s.value
	}
	return nil
}

// end says what is wrong with the group as a whole.
func (h *strictHistogram) end() error {
	switch {
	case !h.any:
		return nil
	case h.buckets == 0 || !math.IsInf(h.bound, 1) || h.counted && h.count != h.value:
		return errLast
	case h.counted != (h.summed || h.gauged):
		return errSums
	case h.negative && h.summed, !h.negative && h.sum < 0:
		return errNegative
	}
	return nil
}

package parse

import (
	"errors"

	"github.com/trtllm-exporter/trtllm_exporter/collector/exposition"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
)

// failure gives an error of the parser its reason.
func failure(err error) error {
	reason := scrape.ReasonParse
	switch {
	case errors.Is(err, exposition.ErrSampleLimit):
		reason = scrape.ReasonSampleLimit
	case errors.Is(err, exposition.ErrLabelLimit):
		reason = scrape.ReasonLabelLimit
	case errors.Is(err, exposition.ErrSelfScrape):
		reason = scrape.ReasonSelfScrape
	case errors.Is(err, exposition.ErrContentType):
		reason = scrape.ReasonContentType
	}
	return &scrape.Error{Reason: reason, Err: err}
}

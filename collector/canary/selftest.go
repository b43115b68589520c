package canary

import (
	"context"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// SelfTest asks a server for its own generating health check. The report has no result if nothing
// was asked, and [Unsupported] if the release has no such check.
func SelfTest(ctx context.Context, server *engine.Endpoint, timeout time.Duration) Report {
	report := Report{SelfTest: true, Asked: time.Now()}
	bounded, release := withDeadline(ctx, timeout, context.DeadlineExceeded)
	defer release()
	answer, _ := server.SelfTest(bounded)
	if ctx.Err() != nil {
		return Report{}
	}
	report.At = time.Now()
	report.Reason = plain(answer.Detail)
	switch answer.Result {
	case engine.SelfTestAnswered:
		report.Result, report.Reason = OK, ""
	case engine.SelfTestFailed, engine.SelfTestSilent:
		report.Result = NoFirstToken
	case engine.SelfTestRejected:
		report.Result = Refused
	case engine.SelfTestUnknown:
		report.Result = Unsupported
	case engine.SelfTestAway: // It starts or exits, and did not ask its engine.
		return Report{}
	}
	return report
}

package assess

import (
	"log/slog"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Announce writes the one line that a log has for all that changed about a replica
// from one status to the next, given where its page is and the kind of its server;
// none when nothing did.
func Announce(log *slog.Logger, before, now *target.Status, page string, kind engine.Kind) {
	up := now.Health == target.HealthUp
	switch {
	case now.State != before.State:
		attrs := []any{"state", now.State, "was", before.State, "severity", now.Severity, "reason", now.StateReason, "url", page}
		if up {
			attrs = append(attrs, "engine", string(kind), "samples", now.Samples)
		} else if now.LastReason != "" {
			attrs = append(attrs, "failure", now.LastReason)
		}
		Severity(now.Severity).logger(log)("Replica changed state", attrs...)
	case up && before.Health != target.HealthUp:
		log.Info("Target is up", "url", page, "engine", string(kind), "samples", now.Samples)
	case now.Health == target.HealthDown && (before.Health != target.HealthDown || before.LastReason != now.LastReason):
		log.Warn("Target is down", "url", page, "failure", now.LastReason, "err", now.LastError)
	}
}

// logger logs at the level of a verdict of that severity.
func (s Severity) logger(log *slog.Logger) func(message string, attrs ...any) {
	switch s {
	case Broken:
		return log.Error
	case Look:
		return log.Warn
	case OK:
	}
	return log.Info
}

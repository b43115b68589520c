package web

import (
	"bytes"
	"cmp"
	"embed"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

//go:embed templates
var assets embed.FS

// frame is what every HTML page needs.
type frame struct {
	Title     string
	Version   string
	Lifecycle bool
	Ready     bool
	now       time.Time
}

// frame is that of a page at that moment.
func (s *Server) frame(title string, now time.Time) frame {
	return frame{
		Title: title, Version: s.opts.Version, Lifecycle: s.opts.EnableLifecycle,
		Ready: s.ready() && !s.draining.Load(), now: now,
	}
}

// pageView is the page of the targets.
type pageView struct {
	frame

	Verdict  verdict
	Summary  counts
	Searches []search
	Pools    []poolState
}

// serveAsset serves a file that the pages load.
func serveAsset(name, contentType string) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, _ *http.Request) {
		text, _ := assets.ReadFile("templates/" + name) // It is embedded.
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Cache-Control", "max-age=3600")
		_, _ = w.Write(text)
	}
}

// judged are all replicas with what the verdict on the fleet needs of them.
func (s *Server) judged() []*replica {
	var all []*replica
	for _, slot := range s.opts.Store.Slots() {
		all = append(all, judged(slot))
	}
	return all
}

// render writes a page only when all of it could be made. Every value goes
// through html/template, for names and errors come from the targets.
func (s *Server) render(w http.ResponseWriter, name string, view any) {
	var out bytes.Buffer
	if err := s.templates.ExecuteTemplate(&out, name, view); err != nil {
		s.logger.Error("HTML page could not be rendered", "page", name, "err", err)
		http.Error(w, "The page could not be rendered", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(out.Len()))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(out.Bytes())
}

// Ago says how long ago a moment was.
func (v *frame) Ago(t time.Time) string {
	if t.IsZero() {
		return "never"
	}
	d := max(v.now.Sub(t), 0)
	switch {
	case d < time.Second:
		return "just now"
	case d < 10*time.Second:
		return strconv.FormatFloat(d.Seconds(), 'f', 1, 64) + " s ago"
	}
	return age(d) + " ago"
}

// Since says how long something has lasted.
func (v *frame) Since(t time.Time) string {
	return strings.TrimSuffix(v.Ago(t), " ago")
}

// Took is the duration of the last scrape.
func (t *targetState) Took() string {
	if t.LastDuration == nil {
		return ""
	}
	if d := *t.LastDuration; d >= 1 {
		return strconv.FormatFloat(d, 'f', 2, 64) + " s"
	}
	return strconv.FormatFloat(*t.LastDuration*1000, 'f', 1, 64) + " ms"
}

// Source says in words where the TensorRT-LLM version comes from.
func (t *targetState) Source() string {
	return strings.ReplaceAll(known(t.VersionSource), "_", " ")
}

// Versions are shown dimmed while they are unknown.
func (t *targetState) Versions() []version {
	return []version{
		{cmp.Or(t.EngineVersion, unknown), ""},
		{cmp.Or(t.TRTLLMVersion, unknown), t.Source()},
	}
}

// version is one version with where it comes from.
type version struct{ Number, Source string }

// Known is false for a version that is not known.
func (v version) Known() bool { return v.Number != unknown }

// unknown is what identity says of what it does not know.
const unknown = "unknown"

// EngineName is the server kind as far as it is known.
func (t *targetState) EngineName() string {
	return cmp.Or(t.configured(), known(t.DetectedEngine), "detecting")
}

// EngineSource says whether the kind was configured or found out.
func (t *targetState) EngineSource() string {
	configured, detected := t.configured(), known(t.DetectedEngine)
	switch {
	case configured != "" && detected != "" && detected != configured:
		return "configured, looks like " + detected
	case configured != "":
		return "configured"
	case detected != "":
		return "detected"
	}
	return ""
}

// configured is the kind that the operator gave; empty for none.
func (t *targetState) configured() string {
	if t.Engine == target.Auto {
		return ""
	}
	return t.Engine
}

// Key names the replica in a query.
func (t *targetState) Key() string { return t.PoolID + "/" + t.ReplicaID }

// Count is the number of samples with digits in groups.
func (t *targetState) Count() string { return inGroups(strconv.Itoa(t.Samples)) }

// IsUp says whether the last scrape was good.
func (t *targetState) IsUp() bool { return t.Health == target.HealthUp }

// Word is what the replica is doing, as far as that is known: one that is ready
// and yet has something wrong is not called ready.
func (t *targetState) Word() string {
	if c := conditionOf(&t.Verdict); c != untried || !t.Tried() {
		return stateWord(&t.Verdict, c)
	}
	return strings.ReplaceAll(cmp.Or(t.State, string(t.Health)), "_", " ")
}

// Tried is false of a replica of which nothing is known yet.
func (t *targetState) Tried() bool {
	return t.Severity != "" || t.State != "" || t.Health != target.HealthUnknown
}

// Tone is the colour of the word: that of the scrape, but nothing that does not
// serve is green, and what is starting is not red yet.
func (t *targetState) Tone() target.Health {
	switch up := t.IsUp(); {
	case up && t.Severity == broken.String():
		return target.HealthDown
	case up && (t.Severity == look.String() || t.State != "" && t.State != stateReady), t.State == stateUnknown, t.State == stateStarting:
		return target.HealthUnknown
	}
	return t.Health
}

// Note explains the state of a replica that does not serve, unless the error
// of its scrape does, or of one whose canary fails.
func (t *targetState) Note() string {
	if t.LastError != "" || t.State == stateReady && !fails(t.Canary) {
		return ""
	}
	return t.StateReason
}

// fails is true of a canary whose last request failed while it is at work.
func fails(c *target.Canary) bool {
	return c != nil && c.Hold == "" && c.Result != "" && c.Result != "ok"
}

// The states of a replica that serves, and of those that will or may.
const (
	stateReady    = string(assess.Ready)
	stateUnknown  = string(assess.Unknown)
	stateStarting = string(assess.Starting)
)

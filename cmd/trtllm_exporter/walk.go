package main

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const (
	// looksOfWalk bounds the targets whose ports are looked at one after the other,
	// dropsOfWalk the dropped targets that are printed.
	looksOfWalk, dropsOfWalk = 10, 5
)

// walkFile goes through a file as the exporter does: discovery, relabeling, each
// target and the verdict on it.
func (f *doctorFlags) walkFile(out *output) error {
	file, err := config.Load(f.file)
	if err != nil {
		return findings{err, exitUnreachable}
	}
	if file.Sharding.Index == nil {
		// Whichever exporter will scrape them, all targets are of interest here.
		file.Sharding = config.DefaultSharding
	}
	return untilSignal(func(ctx context.Context) error { return f.walk(ctx, out, file) })
}

// walk prints what was found on the way.
func (f *doctorFlags) walk(ctx context.Context, out *output, file *config.File) error {
	c, store, err := out.once(file)
	if err != nil {
		return findings{err, exitUnreachable}
	}
	doctors, err := doctorsOf(file, f.timeout)
	if err != nil {
		return findings{err, exitUnreachable}
	}
	defer func() {
		for _, d := range doctors {
			d.Close()
		}
	}()
	const rounds = 5
	r := report{Pools: c.Walk(ctx, rounds*f.timeout), Warnings: warnings(f.file, file)}
	for i := range r.Pools {
		if s := &r.Pools[i]; s.Problem() != "" || s.Waiting() != "" {
			r.empty++
		}
	}
	looks := 0
	for _, slot := range store.Slots() {
		t, status := slot.Target(), slot.Status()
		var problem *diagnose.Finding
		if doctor := doctors[t.PoolID]; doctor != nil && looks < looksOfWalk {
			if problem = doctor.Look(ctx, t, &status); problem != nil {
				looks++
			}
		}
		r.add(t, &status, problem)
	}
	r.Next = []string{f.nextOfWalk(&r)}
	return r.print(out.stdout, f.json)
}

// doctorsOf are those that look with the TLS and credentials of each pool.
func doctorsOf(file *config.File, timeout time.Duration) (map[string]*diagnose.Doctor, error) {
	all := map[string]*diagnose.Doctor{}
	for i := range file.Pools {
		d, err := diagnose.New(file.Pools[i].HTTP, timeout)
		if err != nil {
			return nil, err
		}
		all[file.Pools[i].PoolID] = d
	}
	return all, nil
}

// nextOfWalk is the command to run next: a closer look at the first server that
// is not well, else the exporter.
func (f *doctorFlags) nextOfWalk(r *report) string {
	for i := range r.Servers {
		s := &r.Servers[i]
		if s.unreachable || s.Problem != nil {
			return fmt.Sprintf("%s doctor --config.file %s --pool-id %s %s", program, f.file, s.PoolID, s.elsewhere())
		}
	}
	if r.empty > 0 {
		return program + " check-config " + f.file
	}
	return program + " --config.file " + f.file
}

// printWalk writes what was found of each pool, and the verdict on each target.
func (r *report) printWalk(p *sheet) {
	for _, w := range r.Warnings {
		p.line("warning: " + w)
	}
	for i := range r.Pools {
		if i > 0 || len(r.Warnings) > 0 {
			p.row()
		}
		s := &r.Pools[i]
		p.line("pool " + s.PoolID)
		for j := range s.Sources {
			p.row("  "+s.Sources[j].Key, sourceText(&s.Sources[j]))
		}
		p.row("  relabeling", relabelText(s))
		for _, d := range s.Drops[:min(len(s.Drops), dropsOfWalk)] {
			p.row("  dropped", d.Address+": "+d.Rule)
		}
		if text := cmp.Or(s.Waiting(), s.Problem()); text != "" {
			p.row("  what", text)
			p.row("  what to do", adviceOf(s))
		}
		for j := range r.Servers {
			if r.Servers[j].PoolID == s.PoolID {
				r.Servers[j].printLine(p)
			}
		}
		p.end()
	}
}

// sourceText is what is known of a source.
func sourceText(s *target.Source) string {
	text := count(s.Targets, "target")
	switch {
	case s.LastSuccess.Equal(time.Time{}) && s.LastError == "":
		return "did not answer"
	case s.LastSuccess.Equal(time.Time{}):
		return "failed: " + s.LastError
	case s.Failing():
		return text + ", and an error: " + s.LastError
	}
	return text
}

// relabelText is what became of what was found.
func relabelText(s *target.Search) string {
	text := fmt.Sprintf("%d found, %d kept, %d dropped", s.Found, s.Targets, s.Dropped)
	if s.LeftOut > 0 {
		text += fmt.Sprintf(", %d cannot be used: %s", s.LeftOut, s.Error)
	}
	return text
}

// adviceOf says what to do about a pool without targets.
func adviceOf(s *target.Search) string {
	switch {
	case s.Waiting() != "":
		return "check that the source can be reached from here, and its credentials"
	case s.Dropped > 0:
		return "change the rule, or the labels that the source gives"
	case s.LeftOut > 0:
		return "change relabel_configs so that each target has an address"
	}
	return "check that the source names the replicas, and that they run"
}

// printLine writes one target in a row.
func (s *serverReport) printLine(p *sheet) {
	sentence := s.State + ": " + s.Reason
	if s.Problem != nil {
		sentence = s.Problem.What + "; " + s.Problem.Do
	}
	p.row("  "+cmp.Or(s.Severity, "unknown"), s.ReplicaID+": "+sentence)
}

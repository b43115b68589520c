package main

import (
	"cmp"
	"fmt"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

const (
	// looksOfWalk bounds the targets whose ports are looked at one after the other,
	// dropsOfWalk the dropped targets that are printed.
	looksOfWalk, dropsOfWalk = 10, 5
)

// loadFile is a file as the exporter reads it.
func (f *doctorFlags) loadFile() (*config.File, error) {
	file, err := wholeFile(f.file)
	if err != nil {
		return nil, findings{err, exitUnreachable}
	}
	return file, nil
}

// wholeFile is a file for a command that shows what is in it: whichever exporter
// will scrape them, all targets are of interest unless the file says which is ours.
func wholeFile(name string) (*config.File, error) {
	file, err := config.Load(name)
	if err == nil && file.Sharding.Index == nil {
		file.Sharding = config.DefaultSharding
	}
	return file, err
}

// walked takes in what discovery found of each pool.
func (r *report) walked(pools []target.PoolDiscovery, warnings []string) {
	r.Pools, r.Warnings = pools, warnings
	for i := range r.Pools {
		if s := &r.Pools[i]; s.Problem() != "" || s.Waiting() != "" {
			r.empty++
		}
	}
}

// nextOfWalk is the command to run next: a closer look at the first server that
// is not well, else the exporter.
func (f *doctorFlags) nextOfWalk(r *report) string {
	for i := range r.Servers {
		s := &r.Servers[i]
		if s.pageless || s.Problem != nil {
			return fmt.Sprintf("%s doctor --config.file %s --pool-id %s %s", program, f.file, s.PoolID, s.elsewhere())
		}
	}
	if r.empty > 0 {
		return program + " check-config " + f.file
	}
	return program + " --config.file " + f.file
}

// printWalk writes what was found of each pool, and the verdict on each target.
func (r *report) printWalk(p *textTable) {
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
	case s.LastSuccess.IsZero() && s.LastError == "":
		return "did not answer"
	case s.LastSuccess.IsZero():
		return "failed: " + s.LastError
	case s.Failing():
		return text + ", and an error: " + s.LastError
	}
	return text
}

// relabelText is what became of what was found.
func relabelText(s *target.PoolDiscovery) string {
	text := fmt.Sprintf("%d found, %d kept, %d dropped", s.Found, s.Targets, s.Dropped)
	if s.LeftOut > 0 {
		text += fmt.Sprintf(", %d cannot be used: %s", s.LeftOut, s.Error)
	}
	return text
}

// adviceOf says what to do about a pool without targets.
func adviceOf(s *target.PoolDiscovery) string {
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
func (s *serverReport) printLine(p *textTable) {
	sentence := s.State + ": " + s.Reason
	if s.Problem != nil {
		sentence = s.Problem.What + "; " + s.Problem.Do
	}
	p.row("  "+cmp.Or(s.Severity, "unknown"), s.ReplicaID+": "+sentence)
}

package discovery

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/prometheus/common/model"
	"github.com/prometheus/prometheus/discovery/file"
	"github.com/prometheus/prometheus/discovery/targetgroup"
	"go.yaml.in/yaml/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

// pollFiles is how often files are looked at. It takes a file system call each, and notices what
// notifications of the kernel do not: a folder that is made again, a mounted one, and one for which there
// are no more watches.
const pollFiles = time.Second

// A file may take one in fileShare of the memory limit, because its targets take many times its size.
const fileShare, minFile, maxFile = 128, 512 << 10, 16 << 20

// files reads the targets of a block of file_sd_configs, in place of Prometheus' discoverer, which waits
// for the end of a pipe or device for ever, and keeps in memory what comes.
type files struct {
	config *file.SDConfig
	logger *slog.Logger
	failed atomic.Uint64
	// known holds the files that were found last, missing the folders that were not.
	known   map[string]*targetFile
	missing map[string]bool
}

// targetFile is a file as it was read last.
type targetFile struct {
	info fs.FileInfo
	// groups is how many groups it had when it could be read last.
	groups int
	readAt time.Time
}

func newFiles(config *file.SDConfig, logger *slog.Logger) *files {
	return &files{config: config, logger: logger, known: make(map[string]*targetFile), missing: make(map[string]bool)}
}

// Run implements Prometheus' Discoverer.
func (s *files) Run(ctx context.Context, updates chan<- []*targetgroup.Group) {
	ticker := time.NewTicker(pollFiles)
	defer ticker.Stop()
	for {
		for _, groups := range s.poll() {
			select {
			case updates <- groups:
			case <-ctx.Done():
				return
			}
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return
		}
	}
}

// poll reads the files that changed, and returns their groups. A file that cannot be read keeps those that
// it had.
func (s *files) poll() (updates [][]*targetgroup.Group) {
	found := make(map[string]bool)
	for _, pattern := range s.config.Files {
		names, err := filepath.Glob(pattern)
		if err != nil {
			s.logger.Error("Error expanding glob", "glob", pattern, "err", err)
		}
		s.lookFor(filepath.Dir(pattern))
		for _, name := range names {
			if found[name] {
				continue
			}
			found[name] = true
			if groups := s.update(name); groups != nil {
				updates = append(updates, groups)
			}
		}
	}
	for name, f := range s.known {
		if !found[name] {
			updates = append(updates, emptied(nil, name, f.groups))
			delete(s.known, name)
		}
	}
	return updates
}

// lookFor reports a folder once when it is missing.
func (s *files) lookFor(folder string) {
	_, err := os.Stat(folder)
	if err != nil && !s.missing[folder] {
		s.failed.Add(1)
		s.logger.Error("Error reading folder", "err", err)
	}
	s.missing[folder] = err != nil
}

// update reads a file if it changed, or once per refresh interval. It returns nil if there is no news.
func (s *files) update(name string) []*targetgroup.Group {
	f := s.known[name]
	if f == nil {
		f = &targetFile{}
		s.known[name] = f
	}
	info, err := os.Stat(name)
	recent := time.Since(f.readAt) < time.Duration(s.config.RefreshInterval)
	if err == nil && f.info != nil && unchanged(info, f.info) && recent {
		return nil
	}
	f.info, f.readAt = info, time.Now()
	var groups []*targetgroup.Group
	if err == nil {
		groups, err = readTargets(name, info)
	}
	if err != nil {
		s.failed.Add(1)
		s.logger.Error("Error reading file", "path", name, "err", err)
		return nil
	}
	before := f.groups
	f.groups = len(groups)
	return emptied(groups, name, before)
}

func unchanged(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.ModTime().Equal(b.ModTime()) && a.Size() == b.Size() && a.Mode() == b.Mode()
}

// emptied adds empty groups for those that a file does not have any more.
func emptied(groups []*targetgroup.Group, name string, before int) []*targetgroup.Group {
	for i := len(groups); i < before; i++ {
		groups = append(groups, &targetgroup.Group{Source: sourceOf(name, i)})
	}
	return groups
}

// sourceOf names a group as Prometheus does.
func sourceOf(name string, i int) string { return fmt.Sprintf("%s:%d", name, i) }

// errNoList is the error of a file without a list, as while it is written in place.
var errNoList = errors.New("it contains no list of targets; write [] for an empty one")

// readTargets reads the groups of a file.
func readTargets(name string, info fs.FileInfo) ([]*targetgroup.Group, error) {
	if err := regular.Info(info); err != nil {
		return nil, err
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }() // Nothing was written.
	limit := min(max(debug.SetMemoryLimit(-1)/fileShare, minFile), maxFile)
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(text)) > limit {
		return nil, errTooLarge(limit)
	}
	var groups []*targetgroup.Group
	if strings.EqualFold(filepath.Ext(name), ".json") {
		err = json.Unmarshal(text, &groups)
	} else {
		groups, err = readYAML(text, limit)
	}
	if err != nil {
		return nil, err
	}
	if groups == nil {
		return nil, errNoList
	}
	for i, g := range groups {
		if g == nil {
			return nil, errors.New("nil target group item found")
		}
		g.Source = sourceOf(name, i)
		if g.Labels == nil {
			g.Labels = model.LabelSet{}
		}
		g.Labels[model.MetaLabelPrefix+"filepath"] = model.LabelValue(name)
	}
	return groups, nil
}

func errTooLarge(limit int64) error {
	return fmt.Errorf("it has more than %d bytes, which is all that the memory limit allows for; split it, or raise "+
		"the memory limit", limit)
}

// unread reads a group that was found.
type unread func(into any) error

// UnmarshalYAML implements yaml.Unmarshaler.
func (u *unread) UnmarshalYAML(read func(into any) error) error {
	*u = read
	return nil
}

// readYAML reads groups one by one, as long as they have no more bytes than a limit: aliases repeat what the text
// has once.
func readYAML(text []byte, limit int64) ([]*targetgroup.Group, error) {
	var found []unread
	if err := yaml.UnmarshalStrict(text, &found); err != nil || found == nil {
		return nil, err
	}
	groups, size := make([]*targetgroup.Group, len(found)), int64(0)
	for i, read := range found {
		if read == nil {
			continue
		}
		groups[i] = new(targetgroup.Group)
		if err := read(groups[i]); err != nil {
			return nil, err
		}
		if size += sizeOf(groups[i]); size > limit {
			return nil, errTooLarge(limit)
		}
	}
	return groups, nil
}

// sizeOf returns the least number of bytes that a group takes in a file.
func sizeOf(g *targetgroup.Group) (size int64) {
	for _, set := range append(slices.Clone(g.Targets), g.Labels) {
		for name, value := range set {
			if size += int64(len(value) + 1); name != model.AddressLabel {
				size += int64(len(name))
			}
		}
	}
	return size
}

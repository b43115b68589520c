package config

import (
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/trtllm-exporter/trtllm_exporter/collector/regular"
)

// Validate returns all errors in keys and between keys, each beginning with the path of its key.
func (f *File) Validate() error {
	return errors.Join(
		f.Global.Validate(),
		f.Identity.Validate(),
		f.Sharding.Validate(),
		f.validatePools(),
		f.validateWindow(),
		validateTargets(f.Pools),
		f.validateFiles(),
		f.Exposition.Validate(),
	)
}

func (f *File) validatePools() error {
	var errs keyErrors
	errs.addIf(len(f.Pools) == 0, "pools: no pool is given, so nothing would be scraped; add one with pool_id and "+
		"static_configs")
	ids := map[string]int{}
	for i := range f.Pools {
		pool := &f.Pools[i]
		path := fmt.Sprintf("pools[%d]", i)
		errs = append(errs, prefixed(path+".", pool.Validate()))
		if other, duplicate := ids[pool.PoolID]; duplicate && pool.PoolID != "" {
			errs = append(errs, fmt.Errorf("%s.pool_id: %q is already used by pools[%d]; give each pool "+
				"its own name", path, pool.PoolID, other))
			continue
		}
		ids[pool.PoolID] = i
	}
	return errors.Join(errs...)
}

// validateWindow requires that two scrapes of every pool fit into the window, since a single one
// gives no rate.
func (f *File) validateWindow() error {
	window, slowest := f.Global.Window, 0
	for i := range f.Pools {
		if f.Pools[i].ScrapeInterval > f.Pools[slowest].ScrapeInterval {
			slowest = i
		}
	}
	if window <= 0 || len(f.Pools) == 0 || window >= 2*f.Pools[slowest].ScrapeInterval {
		return nil
	}
	interval := f.Pools[slowest].ScrapeInterval
	return fmt.Errorf("global.window: %s is shorter than two scrape intervals of pools[%d] (%s); set window "+
		"to %s or more", window, slowest, interval, 2*interval)
}

// prefixed prepends a path to every error of a joined error.
func prefixed(path string, err error) error {
	errs := flatten(err)
	for i, err := range errs {
		errs[i] = fmt.Errorf("%s%w", path, err)
	}
	return errors.Join(errs...)
}

// validate adds the errors in keys and between keys, then those of further checks, which may repeat
// some and need pools whose sources were read.
func (c *checker) validate(f *File, further []func(*Pool) error) {
	err := f.Validate()
	c.locate(err)
	if errors.Is(err, regular.ErrNoEnd) {
		return // Further checks read files.
	}
	for i := range f.Pools {
		path := fmt.Sprintf("pools[%d]", i)
		unread := func(key string) bool {
			return key == path || within(key, path) && strings.Contains(key, "_sd_configs")
		}
		if slices.ContainsFunc(c.refused, unread) {
			continue
		}
		for _, check := range further {
			missing := func(err error) bool { return errors.Is(err, fs.ErrNotExist) } // It is reported already.
			c.locate(prefixed(path+".", errors.Join(slices.DeleteFunc(flatten(check(&f.Pools[i])), missing)...)))
		}
	}
}

// locate adds errors that begin with a key, with the line of the key.
func (c *checker) locate(err error) {
	for _, err := range flatten(err) {
		// The HTTP client is not a key: its blocks are in the pool itself.
		text := strings.Replace(err.Error(), ".http client: ", ": ", 1)
		key, reason, _ := strings.Cut(text, ": ")
		if c.followsFrom(key, reason) {
			continue
		}
		c.problems = append(c.problems, &problem{
			line:  lineOf(mentioned(key, reason, c.lines), c.lines),
			text:  text + advice(text) + meant(err),
			cause: err,
		})
	}
}

// mentioned returns the first key below key that the reason mentions and the document has, else
// key itself.
func mentioned(key, reason string, lines map[string]int) string {
	for _, word := range strings.FieldsFunc(reason, func(r rune) bool { return r == ' ' || r == ',' || r == '\'' }) {
		if _, ok := lines[key+"."+word]; ok {
			return key + "." + word
		}
	}
	return key
}

// lineOf returns the line of a key, or of the innermost mapping around it that the document has.
func lineOf(path string, lines map[string]int) int {
	for path != "" {
		if line, ok := lines[path]; ok {
			return line
		}
		path = path[:max(strings.LastIndexAny(path, ".["), 0)]
	}
	return 0
}

func flatten(err error) []error {
	if err == nil {
		return nil
	}
	joined, isJoined := err.(interface{ Unwrap() []error })
	if !isJoined {
		return []error{err}
	}
	var flat []error
	for _, err := range joined.Unwrap() {
		flat = append(flat, flatten(err)...)
	}
	return flat
}

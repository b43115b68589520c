package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/diagnose"
)

// Exit codes of doctor other than exitOK.
const (
	exitMissing     = 1
	exitUnreachable = 2
)

// findings is what doctor found wrong, with the exit code that says so.
type findings struct {
	error

	code int
}

// Unwrap gives the reason.
func (f findings) Unwrap() error { return f.error }

// doctorFlags say which servers doctor looks at, and how.
type doctorFlags struct {
	urls         []string
	file, poolID string
	access       accessFlags
	apiPort      int
	apiPath      string
	timeout      time.Duration
	json         bool
}

// declareDoctor declares the subcommand that says what servers expose.
func declareDoctor(app *kingpin.Application, out *output) (string, func() error) {
	cmd := app.Command("doctor", "Say of each server what it is, what it exposes, which flag turns on what it does not expose, and where its page is if not here. "+
		"Exit code 0: it exposes all that it can; 1: something is missing that can be turned on, or a server is not well; 2: a server has no page that can be reached, or the command line is wrong.")
	var f doctorFlags
	cmd.Arg("url", "Server, as host:port or http://host:8002.").StringsVar(&f.urls)
	cmd.Flag("config.file", "Configuration file. Its pool says how the servers that are named are asked; without any, all its pools are walked, from discovery to the verdict on each target.").PlaceHolder("FILE").StringVar(&f.file)
	cmd.Flag("pool-id", "Pool of --config.file; the first if not given.").PlaceHolder("NAME").StringVar(&f.poolID)
	cmd.Flag("api-port", "Port of the server's HTTP API, if it is not the usual one of its kind.").IntVar(&f.apiPort)
	cmd.Flag("api-path", "What comes before the paths of the server's API, if it is not next to the page.").StringVar(&f.apiPath)
	cmd.Flag("timeout", "Time that one answer may take.").Default("4s").DurationVar(&f.timeout)
	cmd.Flag("json", "Print the findings as JSON.").BoolVar(&f.json)
	f.access.declare(cmd)
	return cmd.FullCommand(), checked(f.check, func(ctx context.Context) error {
		file, err := f.load()
		if err != nil {
			return err
		}
		return f.examine(ctx, out, file)
	})
}

// check says which flags contradict each other.
func (f *doctorFlags) check() error {
	switch {
	case len(f.urls) == 0 && f.file == "":
		return errors.New("no server is named; give its url or host:port, like: trtllm_exporter doctor localhost:8002, or --config.file FILE")
	case len(f.urls) == 0 && (f.poolID != "" || f.apiPort != 0 || f.apiPath != ""):
		return errors.New("--pool-id, --api-port and --api-path are for servers that are named; name one by its url or host:port, or leave them out")
	case f.file == "" && f.poolID != "":
		return errors.New("--pool-id names a pool of a file; give --config.file FILE too")
	case f.file != "" && f.access.given():
		return errors.New("--config.file and flags for TLS or credentials are both given; the pool of the file has these as keys")
	case f.timeout <= 0:
		return errors.New("--timeout must be longer than 0")
	}
	return f.access.check()
}

// load makes a configuration of the servers that are named, or reads the file.
func (f *doctorFlags) load() (*config.File, error) {
	if len(f.urls) == 0 {
		return f.loadFile()
	}
	pool, err := f.pool()
	if err != nil {
		return nil, err
	}
	file, err := onceOf(schemed(f.urls, pool.Scheme), f.timeout, pool)
	if err != nil {
		return nil, usageError{errors.New(asArgument.Replace(err.Error()))}
	}
	return file, nil
}

// asArgument takes off an error what it says of a flag and a file that were not
// given.
var asArgument = strings.NewReplacer("--target: ", "", "--target ", "", "pools[0].", "")

// pool says how the servers are asked.
func (f *doctorFlags) pool() (config.Pool, error) {
	pool := config.DefaultPool
	if f.file != "" {
		file, err := config.Load(f.file)
		if err != nil {
			return pool, findings{err, exitUnreachable}
		}
		if pool, err = poolOf(file, f.poolID); err != nil {
			return pool, usageError{err}
		}
	} else {
		f.access.apply(&pool)
	}
	if f.apiPort != 0 {
		pool.APIPort = f.apiPort
	}
	if f.apiPath != "" {
		pool.APIPath = f.apiPath
	}
	return pool, nil
}

// poolOf is the pool of that name, or the first, without its targets.
func poolOf(file *config.File, id string) (config.Pool, error) {
	var known []string
	for i := range file.Pools {
		pool := file.Pools[i]
		if id == "" || pool.PoolID == id {
			pool.Discovery, pool.RelabelConfigs = config.DefaultPool.Discovery, nil
			return pool, nil
		}
		known = append(known, pool.PoolID)
	}
	return config.Pool{}, fmt.Errorf("--pool-id: the file has no pool %q; it has %s", id, strings.Join(known, ", "))
}

// examine asks all servers once and prints what is known of them. Those of a whole
// file are found as the exporter finds them.
func (f *doctorFlags) examine(ctx context.Context, out *output, file *config.File) error {
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
	const rounds = 5                       // Detection, page, answers, and the page again.
	r := report{Servers: []serverReport{}} // JSON has no list of what is nil.
	if len(f.urls) == 0 {
		r.walked(c.Walk(ctx, rounds*f.timeout), warnings(f.file, file))
	} else {
		scraping, cancel := context.WithTimeout(ctx, rounds*f.timeout*time.Duration(len(f.urls)))
		defer cancel()
		// A target that fails is a finding like others.
		_ = c.ScrapeOnce(scraping)
	}
	looks := 0
	for _, slot := range store.Slots() {
		t, status := slot.Target(), slot.Status()
		var problem *diagnose.Finding
		if doctor := doctors[t.PoolID]; doctor != nil && (looks < looksOfWalk || len(f.urls) > 0) {
			if problem = doctor.Look(ctx, t, &status); problem != nil {
				looks++
			}
		}
		r.add(t, &status, problem)
	}
	r.conclude(f)
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

// print writes the report, and gives what was found wrong as an error.
func (r *report) print(w io.Writer, asJSON bool) error {
	wrong := r.wrong()
	if found, ok := errors.AsType[findings](wrong); ok {
		r.ExitCode = found.code
	}
	if !asJSON {
		if _, err := io.WriteString(w, r.text(widthOf(w))); err != nil {
			return err
		}
		return wrong
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	if err := encoder.Encode(r); err != nil {
		return err
	}
	return wrong
}

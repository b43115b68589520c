package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/alecthomas/kingpin/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/scrape"
	"github.com/trtllm-exporter/trtllm_exporter/collector/snapshot"
)

// doctorFlags selects the servers to examine, and how to query them.
type doctorFlags struct {
	cmd          *kingpin.CmdClause
	urls         []string
	file, poolID string
	access       accessFlags
	apiPort      int
	apiPath      string
	kindsFiles   []string
	timeout      time.Duration
	json         bool
	draft        bool
}

func declareDoctor(app *kingpin.Application, out *output) (string, func() error) {
	f := doctorFlags{cmd: app.Command("doctor", "Report what each server is, what it exposes, which flag turns on "+
		"what is missing, and where its metrics page is if not at the given address. "+
		"Exit code 0: nothing is missing; 1: something can be turned on, or a server needs attention; 2: a server "+
		"has no metrics page that can be reached, or the command line is wrong.")}
	cmd := f.cmd
	cmd.Arg("url", "Server, as host:port or http://host:8002.").StringsVar(&f.urls)
	cmd.Flag("config.file", "Configuration file. With servers named, its pool defines how they are asked; "+
		"otherwise all its pools are examined, from discovery to the verdict on "+
		"each target.").PlaceHolder("FILE").StringVar(&f.file)
	cmd.Flag("pool-id", "Pool of --config.file; the first if not given.").PlaceHolder("NAME").StringVar(&f.poolID)
	cmd.Flag("api-port", "Port of the server's HTTP API, if it is not the usual one of its kind.").IntVar(&f.apiPort)
	cmd.Flag("api-path", "Prefix of the paths of the server's API, if it is not next to the "+
		"metrics page.").StringVar(&f.apiPath)
	cmd.Flag("kinds-file", "File that declares kinds of servers, as kinds_file of a configuration; repeatable.").
		PlaceHolder("FILE").
		StringsVar(&f.kindsFiles)
	cmd.Flag("timeout", "Timeout of each request.").Default("4s").DurationVar(&f.timeout)
	cmd.Flag("json", "Print the findings as JSON.").BoolVar(&f.json)
	cmd.Flag("draft-kind", "Print a kinds_file for the named server instead of a report: what its names may mean, "+
		"from what they are like.").BoolVar(&f.draft)
	f.access.declare(cmd)
	return cmd.FullCommand(), checked(f.check, func(ctx context.Context) error {
		if f.draft {
			return f.draftKind(ctx, out.stdout)
		}
		file, err := f.load()
		if err != nil {
			return err
		}
		return f.examine(ctx, out, file)
	})
}

func (f *doctorFlags) check() error {
	switch {
	case f.draft && f.checkDraft() != nil:
		return f.checkDraft()
	case len(f.urls) == 0 && f.file == "":
		return errors.New("no server is named; give its url or host:port, like: trtllm_exporter doctor " +
			"localhost:8002, or --config.file FILE")
	case len(f.urls) == 0 && (f.poolID != "" || f.apiPort != 0 || f.apiPath != ""):
		return errors.New("--pool-id, --api-port and --api-path are for servers that are named; name one by its " +
			"url or host:port, or leave them out")
	case f.timeout <= 0:
		return errors.New("--timeout must be longer than 0")
	}
	return f.access.checkBeside(f.file, f.poolID, f.kindsFiles)
}

// loadUnsharded loads a file with the targets of all shards, unless the file itself sets the
// index.
func loadUnsharded(name string) (*config.File, error) {
	file, err := config.Load(name)
	if err == nil && file.Sharding.Index == nil {
		file.Sharding = config.DefaultSharding
	}
	return file, err
}

// load returns the configuration for the named servers, or loads the file.
func (f *doctorFlags) load() (*config.File, error) {
	if len(f.urls) == 0 {
		file, err := loadUnsharded(f.file)
		if err != nil {
			return nil, exitError{err, exitUsage}
		}
		return file, nil
	}
	pool, err := f.pool()
	if err != nil {
		return nil, err
	}
	file, err := singleScrape(f.urls, f.timeout, pool)
	if err != nil {
		return nil, exitError{errors.New(withoutFlags.Replace(err.Error())), exitUsage}
	}
	return file, nil
}

// withoutFlags removes the names of flags and keys that were not given from an error.
var withoutFlags = strings.NewReplacer("--target: ", "", "--target ", "", "pools[0].", "")

// pool returns how the named servers are asked.
func (f *doctorFlags) pool() (pool config.Pool, err error) {
	if f.file == "" {
		pool, err = namedPool(&f.access, f.kindsFiles)
	} else {
		pool, err = poolOfFile(f.file, f.poolID)
	}
	if err != nil {
		return pool, exitError{err, exitUsage}
	}
	pool.APIPort = cmp.Or(f.apiPort, pool.APIPort)
	pool.APIPath = cmp.Or(f.apiPath, pool.APIPath)
	return pool, nil
}

// poolOfFile is poolWithoutTargets of a file that it loads.
func poolOfFile(name, id string) (config.Pool, error) {
	file, err := config.Load(name)
	if err != nil {
		return config.Pool{}, err
	}
	return poolWithoutTargets(file, id)
}

// poolWithoutTargets returns the pool with the given id, or the first pool, without its targets.
func poolWithoutTargets(file *config.File, id string) (config.Pool, error) {
	var ids []string
	for i := range file.Pools {
		pool := file.Pools[i]
		if id == "" || pool.PoolID == id {
			pool.Discovery, pool.RelabelConfigs = config.DefaultPool.Discovery, nil
			return pool, nil
		}
		ids = append(ids, pool.PoolID)
	}
	return config.Pool{}, fmt.Errorf("--pool-id: the file has no pool %q; it has %s", id, strings.Join(ids, ", "))
}

// examine queries all servers once and prints the report.
func (f *doctorFlags) examine(ctx context.Context, out *output, file *config.File) error {
	c, store, err := out.newCollector(file)
	if err != nil {
		return exitError{err, exitUsage}
	}
	const rounds = 5                 // Detection, page, answers, and the page again.
	r := report{Servers: []server{}} // A nil slice would be null in JSON.
	if len(f.urls) == 0 {
		searches, _ := c.ScrapeOnce(ctx, rounds*f.timeout) // A failing target is a finding.
		text, _ := config.Read(f.file)                     // It was read before; without it, some warnings are missing.
		r.Pools, r.Warnings = searches, warnings(f.file, text, file)
		groups, err := groupsText(&file.Exposition)
		if err != nil {
			return err
		}
		if groups != "" {
			r.Warnings = append(r.Warnings, "exposition: "+groups)
		}
	} else {
		ctx, cancel := context.WithTimeout(ctx, rounds*f.timeout*time.Duration(len(f.urls)))
		_, _ = c.ScrapeOnce(ctx, f.timeout)
		cancel()
	}
	f.diagnose(ctx, &r, file, store)
	r.conclude(f)
	return r.print(out.stdout, f.json)
}

// maxDiagnosed is for how many failing targets of a file ports are probed, which takes time.
const maxDiagnosed = 10

// diagnose adds the servers of a store to the report, each with its problem.
func (f *doctorFlags) diagnose(ctx context.Context, r *report, file *config.File, store *snapshot.Store) {
	pools := map[string]*config.Pool{}
	for i := range file.Pools {
		pools[file.Pools[i].PoolID] = &file.Pools[i]
	}
	diagnosed := 0
	for _, slot := range store.Slots() {
		var problem *scrape.Diagnosis
		t, status := slot.Target(), slot.Status()
		if pool := pools[t.PoolID]; pool != nil && (diagnosed < maxDiagnosed || len(f.urls) > 0) {
			problem = scrape.Diagnose(ctx, pool.HTTP, pool.Kinds, f.timeout, t, &status)
		}
		if problem != nil {
			diagnosed++
		}
		r.add(slot, problem, &file.Exposition)
	}
}

// print writes the report, and returns its conclusion as an error.
func (r *report) print(w io.Writer, asJSON bool) error {
	wrong := r.conclusion()
	var err error
	if asJSON {
		err = printJSON(w, r)
	} else {
		_, err = io.WriteString(w, r.text(widthOf(w)))
	}
	return cmp.Or(err, wrong)
}

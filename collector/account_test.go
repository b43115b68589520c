package collector_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/common/model"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/account"
	"github.com/trtllm-exporter/trtllm_exporter/collector/config"
	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

// recording records simulated servers in a bubble of synctest.
type recording struct {
	*testCollector

	servers  []*simulate.Replica
	scraper  *simulatedScraper
	recorder *account.Recorder
	reader   *account.Reader
}

// startRecording scrapes servers once a second.
func startRecording(t *testing.T, opts account.Options, servers ...*simulate.Replica) *recording {
	t.Helper()
	targets := make(map[string]int)
	for i := range servers {
		targets[fmt.Sprintf("r%d", i)] = i
	}
	return startRecordingOf(t, opts, targets, servers...)
}

// startRecordingOf scrapes those servers that have a name.
func startRecordingOf(
	t *testing.T, opts account.Options, targets map[string]int, servers ...*simulate.Replica,
) *recording {
	t.Helper()
	addresses := make(map[string]*simulate.Replica)
	for i, r := range servers {
		addresses[addressOf(i)] = r
	}
	tc := newCollector(t)
	scraper := simulated(addresses)
	tc.UseScraper(scraper)
	opts.Interval = time.Second
	r := &recording{testCollector: tc, servers: servers, scraper: scraper, recorder: account.NewRecorder(opts)}
	r.retarget(t, targets)
	tc.start()
	r.reader = account.NewReader(tc.store, r.recorder)
	return r
}

func addressOf(server int) string { return fmt.Sprintf("10.0.0.%d:8000", server) }

// retarget scrapes servers under other names.
func (r *recording) retarget(t *testing.T, targets map[string]int) {
	t.Helper()
	var texts []string
	names := slices.Sorted(maps.Keys(targets))
	for _, name := range names {
		address := addressOf(targets[name])
		texts = append(texts, fmt.Sprintf("%s=%s|%s", name, address, address))
	}
	p := pool("p", texts...)
	p.ScrapeInterval, p.StallAfter = model.Duration(time.Second), model.Duration(10*time.Second)
	for i, name := range names {
		path := r.servers[targets[name]].MetricsPath()
		p.Discovery.StaticConfigs[i].Labels[model.MetricsPathLabel] = model.LabelValue(path)
	}
	cfg := config.DefaultFile
	cfg.Pools, cfg.Exposition = []config.Pool{p}, account.Exposition()
	cfg.Resolve()
	require.NoError(t, r.ApplyConfig(&cfg))
}

// pass lets time pass and reads all pages.
func (r *recording) pass(d time.Duration) {
	for range d / (100 * time.Millisecond) {
		time.Sleep(100 * time.Millisecond)
		synctest.Wait()
		r.reader.Read()
	}
}

func simulatedServer(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	spec.Speed = 1
	r, err := simulate.NewReplica(spec)
	require.NoError(t, err)
	return r
}

// bench runs requests of a rate for two minutes between idle times, and returns the account.
func (r *recording) bench(rate float64) *account.Account {
	r.pass(5 * time.Second)
	for _, server := range r.servers {
		server.SetRate(rate)
	}
	r.pass(2 * time.Minute)
	for _, server := range r.servers {
		server.SetRate(0)
	}
	r.pass(time.Minute)
	return r.recorder.Account()
}

// idleServer returns a server to which no requests come yet.
func idleServer(t *testing.T, spec simulate.Spec) *simulate.Replica {
	t.Helper()
	spec.Workload.Rate = 0.00001
	return simulatedServer(t, spec)
}

// TestAccountsCountEveryRequest compares the accounts of a benchmark with what really happened, for every
// kind of server: counts are exact, means within 2 %.
func TestAccountsCountEveryRequest(t *testing.T) {
	t.Parallel()
	for _, kind := range simulate.Kinds() {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := idleServer(t, simulate.Spec{
					Kind: kind, Streaming: true, GPUs: 2, Setup: simulate.Setup{Histograms: true},
					Workload: simulate.Workload{OutputTokens: 200},
				})
				r := startRecording(t, account.Options{Trim: true}, server)
				a, truth := r.bench(5), server.Truth()
				require.Positive(t, truth.Finished)
				require.Empty(t, a.Interrupted)
				require.Len(t, a.Models, 1)
				f := &a.Sum
				ended := f.Requests[engine.ClassOK] + f.Requests[engine.ClassUnknown]
				require.Equal(t, float64(truth.Finished), ended, "requests; if the first of each reason is missing, the "+
					"kind lacks the quirk CountersAppear")
				requireCount(t, f, "prompt_tokens", f.Prompt, truth.PromptTokens)
				requireCount(t, f, "generated_tokens", f.Generated, truth.GenerationTokens)
				requireMean(t, f, "e2e_seconds", f.Whole, truth.E2ESum.Seconds()/float64(truth.Finished))
				first, output := meanTimes(server.Latencies())
				requireMean(t, f, "ttft_seconds", f.FirstToken, first)
				requireMean(t, f, "tpot_seconds", f.OutputToken, output)
				requirePercentiles(t, f.Whole, server.Latencies())
				if kind == simulate.KindVLLM {
					require.NotNil(t, f.Queued.Percentiles[0].UpTo, "waits of requests have a histogram")
				}
				if f.Open != nil && f.Whole != nil {
					require.InEpsilon(t, truth.E2ESum.Seconds()/a.Seconds, f.Open.Mean, 0.02, "requests in the server")
				}
			})
		})
	}
}

// requireCount checks a count, or that a reason is given.
func requireCount(t *testing.T, f *account.Figures, figure string, got *float64, want uint64) {
	t.Helper()
	if got == nil {
		require.NotEmpty(t, f.Absent[figure], figure)
		return
	}
	require.Equal(t, float64(want), *got, figure)
}

// requireMean checks a mean within 2 % or, as Triton's times include steps around the engine, 2 ms.
func requireMean(t *testing.T, f *account.Figures, figure string, got *account.Times, want float64) {
	t.Helper()
	if got == nil {
		require.NotEmpty(t, f.Absent[figure], figure)
		return
	}
	require.InDelta(t, want, got.Mean, max(0.02*want, 0.002), figure)
}

// requirePercentiles checks that the durations of requests have their percentiles within the bounds, which
// for Triton contain steps around the engine.
func requirePercentiles(t *testing.T, got *account.Times, all []simulate.Latency) {
	t.Helper()
	if got == nil {
		return
	}
	const around = 0.005
	durations := make([]float64, len(all))
	for i, l := range all {
		durations[i] = l.E2E.Seconds()
	}
	slices.Sort(durations)
	for _, p := range got.Percentiles {
		want := durations[(len(durations)-1)*p.Percent/100]
		require.GreaterOrEqual(t, want+around, p.Above, "p%d", p.Percent)
		if p.UpTo != nil {
			require.LessOrEqual(t, want, *p.UpTo+around, "p%d", p.Percent)
		}
	}
}

// TestAccountsTellFailedRequests has a server of which a fifth of the requests fail.
func TestAccountsTellFailedRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{Kind: simulate.KindTriton, Workload: simulate.Workload{ErrorRate: 0.2}})
		r := startRecording(t, account.Options{Trim: true}, server)
		a, truth := r.bench(2), server.Truth()
		require.Positive(t, truth.Failed)
		require.Equal(t, map[engine.Class]float64{
			engine.ClassOK:     float64(truth.Finished),
			engine.ClassServer: float64(truth.Failed),
		}, a.Sum.Requests)
		require.InEpsilon(t, float64(truth.Finished)/a.Seconds, *a.Sum.RequestSpeed, 1e-9, "those that failed are no speed")
	})
}

// meanTimes returns the mean times to the first token, and between tokens.
func meanTimes(all []simulate.Latency) (first, output float64) {
	several := 0.0
	for _, l := range all {
		first += l.TTFT.Seconds() / float64(len(all))
		if l.Output > 1 {
			several++
			output += l.TPOT.Seconds()
		}
	}
	return first, output / several
}

// TestAccountsTellRunningFromOpenRequests has a server that runs eight requests at once while twice as many
// come: requests at once are those of the server, and the rates are said to be no capacity.
func TestAccountsTellRunningFromOpenRequests(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{
			Kind: simulate.KindVLLM, Engine: simulate.Engine{MaxActive: 8, MaxBatch: 8},
			Workload: simulate.Workload{OutputTokens: 300, Spread: 0.2},
		})
		r := startRecording(t, account.Options{}, server)
		r.pass(5 * time.Second)
		server.SetRate(5)
		sampled, pages := 0, 0
		for range 60 {
			r.pass(time.Second)
			sampled += server.Truth().InFlight
			pages++
		}
		f := r.recorder.Account().Sum
		require.NotNil(t, f.Running)
		require.Equal(t, 8.0, *f.Running.Highest)
		require.InDelta(t, 8, *f.Batch, 0.5)
		require.InEpsilon(t, float64(sampled)/float64(pages)*60/65, f.Open.Mean, 0.1)
		require.Greater(t, f.Open.Mean, 3*f.Running.Mean)
		require.NotNil(t, f.Steady)
		require.False(t, *f.Steady, "a load that grew is not steady: %+v", f.Open)
		require.Contains(t, f.Growth, "the queue grew until")
	})
}

// TestAccountsSkipWarmUp has a warm-up of requests that are not to be counted.
func TestAccountsSkipWarmUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{Kind: simulate.KindTriton, Workload: simulate.Workload{OutputTokens: 20}})
		r := startRecording(t, account.Options{Trim: true, Skip: 30 * time.Second}, server)
		r.pass(20 * time.Second)
		server.SetRate(3)
		r.pass(15 * time.Second)
		server.SetRate(0)
		r.pass(30 * time.Second)
		warm := server.Truth().Finished
		server.SetRate(3)
		r.pass(30 * time.Second)
		server.SetRate(0)
		r.pass(30 * time.Second)
		a := r.recorder.Account()
		require.Positive(t, warm)
		require.Equal(t, float64(server.Truth().Finished-warm), a.Sum.Requests[engine.ClassOK])
		require.InDelta(t, 45, a.Seconds, 3, "15 s without requests and 30 s with them are left")
	})
}

// TestAccountsOfNoTimeHaveNoLevels ends before anything counts: one page is no mean, and what was left out is not 0.
func TestAccountsOfNoTimeHaveNoLevels(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		opts     account.Options
		rate     float64
		requests bool
		why      string
	}{
		{
			"it ends while requests are left out",
			account.Options{Trim: true, Skip: time.Hour},
			3, false,
			"it ended before the 3600 s that are left out were over",
		},
		{
			"there were no requests after those that are left out",
			account.Options{Trim: true, Skip: 10 * time.Second},
			3, false,
			"no page shows work after the 10 s that are left out",
		},
		{"there were no requests", account.Options{Trim: true}, 0.00001, true, "no page shows work"},
		{
			"there were no requests, and some were to be left out",
			account.Options{Trim: true, Skip: time.Hour},
			0.00001, true,
			"no page shows work",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := idleServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{OutputTokens: 20}})
				r := startRecording(t, c.opts, server)
				r.pass(5 * time.Second)
				server.SetRate(c.rate)
				r.pass(4 * time.Second)
				server.SetRate(0.00001)
				r.pass(20 * time.Second)
				a := r.recorder.Account()
				require.Zero(t, a.Seconds)
				require.Equal(t, c.why, a.Empty)
				require.Equal(t, c.requests, a.Sum.Requests != nil, "requests that ended: %v", a.Sum.Requests)
				require.Nil(t, a.Sum.Running)
				require.Nil(t, a.Sum.Cache)
				for _, figure := range []string{"running", "queue", "kv_cache_ratio", "batch_size", "requests_per_second"} {
					require.Equal(t, c.why, a.Sum.Absent[figure], figure)
				}
			})
		})
	}
}

// TestAccountsNameRestarts has a server that restarts: what is known is a lower bound, and nothing is divided.
func TestAccountsNameRestarts(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{OutputTokens: 20}})
		steady := idleServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{OutputTokens: 20}})
		r := startRecording(t, account.Options{}, server, steady)
		r.pass(5 * time.Second)
		server.SetRate(5)
		steady.SetRate(5)
		r.pass(30 * time.Second)
		before := server.Truth().Finished
		server.Restart(2 * time.Second)
		r.pass(30 * time.Second)
		a := r.recorder.Account()
		causes := causesOf(a)
		require.Equal(t, "p/r0", causes[account.Restarted])
		f := &a.Sum
		require.True(t, f.AtLeast, "figures are a lower bound after a restart")
		all := float64(before + server.Truth().Finished + steady.Truth().Finished)
		require.LessOrEqual(t, f.Requests[engine.ClassOK], all)
		require.InEpsilon(t, all, f.Requests[engine.ClassOK], 0.05, "only what ended after a last page is missing")
		for figure, value := range map[string]bool{
			"requests_per_second": f.RequestSpeed == nil, "generated_tokens_per_second": f.GenerationSpeed == nil,
			"e2e_seconds": f.Whole == nil, "running": f.Running == nil,
		} {
			require.True(t, value, figure)
			require.Contains(t, f.Absent[figure], "p/r0", figure)
			require.Contains(t, f.Absent[figure], "it restarted", figure)
		}
	})
}

// causesOf returns the interruptions of an account, and the replica of each.
func causesOf(a *account.Account) map[account.Cause]string {
	all := make(map[account.Cause]string)
	for _, i := range a.Interrupted {
		all[i.Kind] = i.PoolID + "/" + i.ReplicaID
	}
	return all
}

// TestAccountsNameHangs has a server that stands still for a while: its counts are right, and nothing is
// averaged over that time.
func TestAccountsNameHangs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{OutputTokens: 50}})
		r := startRecording(t, account.Options{}, server)
		r.pass(5 * time.Second)
		server.SetRate(5)
		r.pass(30 * time.Second)
		server.Stall(true)
		r.pass(30 * time.Second)
		server.Stall(false)
		r.pass(30 * time.Second)
		server.SetRate(0)
		r.pass(30 * time.Second)
		a := r.recorder.Account()
		require.Equal(t, map[account.Cause]string{account.NotReady: "p/r0"}, causesOf(a))
		require.Contains(t, a.Interrupted[0].Reason, "it seems to hang")
		require.False(t, a.Sum.AtLeast, "figures are exact without a restart")
		require.Equal(t, float64(server.Truth().Finished), a.Sum.Requests[engine.ClassOK])
		require.Nil(t, a.Sum.GenerationSpeed)
		require.Contains(t, a.Sum.Absent["generated_tokens_per_second"], "it seems to hang")
	})
}

// TestAccountsNameServersThatEnd has a server that ends for good.
func TestAccountsNameServersThatEnd(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{Kind: simulate.KindTriton, Workload: simulate.Workload{OutputTokens: 50}})
		r := startRecording(t, account.Options{Trim: true}, server)
		r.pass(5 * time.Second)
		server.SetRate(5)
		r.pass(30 * time.Second)
		server.Stop()
		r.pass(30 * time.Second)
		a := r.recorder.Account()
		require.Equal(t, map[account.Cause]string{account.NoPage: "p/r0"}, causesOf(a))
		require.Nil(t, a.Sum.RequestSpeed)
		require.NotEmpty(t, a.Sum.Requests, "what was counted before")
		require.True(t, a.Sum.AtLeast, "what it counted after its last page nobody knows")
	})
}

// TestAccountsNameServersThatComeLate has a server that starts while the other one works.
func TestAccountsNameServersThatComeLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := idleServer(t, simulate.Spec{Kind: simulate.KindTriton})
		late := idleServer(t, simulate.Spec{Kind: simulate.KindTriton, LoadDuration: 30 * time.Second})
		r := startRecording(t, account.Options{Trim: true}, server, late)
		a := r.bench(2)
		require.Equal(t, map[account.Cause]string{account.NoPage: "p/r1"}, causesOf(a))
		require.Nil(t, a.Sum.RequestSpeed)
		require.Equal(t, float64(server.Truth().Finished+late.Truth().Finished), a.Sum.Requests[engine.ClassOK])
	})
}

// TestAccountsNameServersThatComeALittleLate has a server that begins seconds after the other: what it did before
// its first page is not known.
func TestAccountsNameServersThatComeALittleLate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{Rate: 2}})
		late := simulatedServer(t, simulate.Spec{
			Kind: simulate.KindVLLM, Workload: simulate.Workload{Rate: 2}, LoadDuration: 3 * time.Second,
		})
		r := startRecording(t, account.Options{}, server, late)
		r.pass(time.Minute)
		a := r.recorder.Account()
		require.Equal(t, map[account.Cause]string{account.NoPage: "p/r1"}, causesOf(a))
		require.True(t, a.Sum.AtLeast, "what it counted before its first page nobody knows")
		require.Nil(t, a.Sum.RequestSpeed)
	})
}

// TestAccountsOfModelsThatComeAndGo has a page without a model at first, and later: nothing of it runs then.
func TestAccountsOfModelsThatComeAndGo(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM})
		r := startRecording(t, account.Options{}, server)
		begin := time.Now()
		r.scraper.changePages(func(string) (string, error) {
			seconds := time.Since(begin).Seconds()
			page := fmt.Sprintf("# TYPE vllm:generation_tokens_total counter\nvllm:generation_tokens_total"+
				"{model_name=\"stays\"} %f\n# TYPE vllm:num_requests_running gauge\nvllm:num_requests_running"+
				"{model_name=\"stays\"} 1\n", seconds)
			if seconds > 40 && seconds <= 70 {
				page += "vllm:num_requests_running{model_name=\"goes\"} 4\n"
			}
			return page, nil
		})
		r.pass(100 * time.Second)
		a := r.recorder.Account()
		require.Len(t, a.Models, 2)
		require.Equal(t, "goes", a.Models[0].ModelID)
		require.NotNil(t, a.Models[0].Running, "%v, %v", a.Interrupted, a.Models[0].Absent)
		require.InDelta(t, 4*0.3, a.Models[0].Running.Mean, 0.1)
		require.Zero(t, *a.Models[0].Running.Last)
		require.InDelta(t, 1+4*0.3, a.Sum.Running.Mean, 0.1)
	})
}

// TestAccountsNameSeveralProcesses has two servers behind one address, which answer in turn.
func TestAccountsNameSeveralProcesses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		one := simulatedServer(t, simulate.Spec{Kind: simulate.KindTriton, Workload: simulate.Workload{Rate: 5}})
		other := simulatedServer(t, simulate.Spec{Kind: simulate.KindTriton, Workload: simulate.Workload{Rate: 1}})
		one.Advance(time.Minute)
		r := startRecording(t, account.Options{}, one)
		turn := 0
		r.scraper.changePages(func(string) (string, error) {
			turn++
			if turn%2 == 0 {
				return string(one.Page()), nil
			}
			return string(other.Page()), nil
		})
		r.pass(time.Minute)
		a := r.recorder.Account()
		require.Equal(t, "p/r0", causesOf(a)[account.Processes])
		require.Nil(t, a.Sum.Requests)
		require.Contains(t, a.Sum.Absent["requests"], "2 processes or more answer at its address")
	})
}

// TestAccountsCountOneTier has a router and the server behind it, which count the same requests.
func TestAccountsCountOneTier(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		router := idleServer(t, simulate.Spec{Kind: simulate.KindDynamoFrontend, Seed: 1})
		worker := idleServer(t, simulate.Spec{Kind: simulate.KindDynamoVLLM, Seed: 1})
		r := startRecording(t, account.Options{Trim: true}, router, worker)
		a := r.bench(2)
		require.Len(t, a.Models, 1)
		require.Equal(t, float64(router.Truth().Finished), a.Sum.Requests[engine.ClassOK])
		require.NotNil(t, a.Sum.Cache, "of the worker")
	})
}

// TestAccountsNameCountersThatComeAndGo has a page that lacks the tokens of a model at first, or for a time: what was
// counted until they are there is not known, or whether they began again.
func TestAccountsNameCountersThatComeAndGo(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		from, to time.Duration
		says     string
	}{
		"they come late":           {0, 30 * time.Second, "was not on the page before"},
		"they are away for a time": {20 * time.Second, 30 * time.Second, "was away from the page for a time"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				server := simulatedServer(t, simulate.Spec{Kind: simulate.KindTriton, Workload: simulate.Workload{Rate: 2}})
				r := startRecording(t, account.Options{}, server)
				begin := time.Now()
				tokens := regexp.MustCompile(`(?m)^.*nv_llm_output_token_len.*\n`)
				r.scraper.changePages(func(string) (string, error) {
					page, passed := string(server.Page()), time.Since(begin)
					if passed >= c.from && passed < c.to {
						page = tokens.ReplaceAllString(page, "")
					}
					return page, nil
				})
				r.pass(time.Minute)
				a := r.recorder.Account()
				require.Equal(t, map[account.Cause]string{account.Reset: "p/r0"}, causesOf(a))
				require.Contains(t, a.Interrupted[0].Reason, "its generation_tokens_total of ")
				require.Contains(t, a.Interrupted[0].Reason, c.says)
				require.True(t, a.Sum.AtLeast)
				require.NotNil(t, a.Sum.Generated)
				require.Nil(t, a.Sum.GenerationSpeed)
			})
		})
	}
}

// TestAccountsOfServersThatWereNeverRead has a server whose page never comes: what it counts nobody knows.
func TestAccountsOfServersThatWereNeverRead(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{Rate: 2}})
		dead := simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM, LoadDuration: time.Hour})
		r := startRecording(t, account.Options{}, server, dead)
		r.pass(time.Minute)
		a := r.recorder.Account()
		require.Equal(t, map[account.Cause]string{account.NoPage: "p/r1"}, causesOf(a))
		require.Zero(t, a.Replicas[1].Pages)
		require.True(t, a.Sum.AtLeast)
		require.NotNil(t, a.Sum.RequestSpeed, "of the server that is read")
	})
}

// TestAccountsNameServersThatJoin has a server that becomes a target a second after the beginning: what it did until
// then is not known.
func TestAccountsNameServersThatJoin(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		busy := func() *simulate.Replica {
			return simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{Rate: 2}})
		}
		first, joins := busy(), busy()
		r := startRecordingOf(t, account.Options{}, map[string]int{"r0": 0}, first, joins)
		r.pass(2 * time.Second)
		r.recorder.Begin()
		r.retarget(t, map[string]int{"r0": 0, "r1": 1})
		r.pass(30 * time.Second)
		a := r.recorder.Account()
		require.Equal(t, map[account.Cause]string{account.NoPage: "p/r1"}, causesOf(a))
		require.True(t, a.Sum.AtLeast, "what it counted before its first page nobody knows")
		require.Nil(t, a.Sum.RequestSpeed)
	})
}

// TestAccountsTellServersOfOneNameApart has another server, which counted more, behind the name of one that goes.
func TestAccountsTellServersOfOneNameApart(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		server := simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{Rate: 1}})
		other := simulatedServer(t, simulate.Spec{Kind: simulate.KindVLLM, Workload: simulate.Workload{Rate: 20}})
		r := startRecordingOf(t, account.Options{}, map[string]int{"r0": 0}, server, other)
		r.pass(30 * time.Second)
		before, counted := other.Truth().Finished, server.Truth().Finished
		r.retarget(t, map[string]int{"r0": 1})
		r.pass(30 * time.Second)
		a := r.recorder.Account()
		require.Equal(t, map[account.Cause]string{account.Restarted: "p/r0"}, causesOf(a))
		require.True(t, a.Sum.AtLeast, "what either counted between their pages nobody knows")
		most := float64(counted + other.Truth().Finished - before)
		require.LessOrEqual(t, a.Sum.Requests[engine.ClassOK], most)
		require.InEpsilon(t, most, a.Sum.Requests[engine.ClassOK], 0.1)
	})
}

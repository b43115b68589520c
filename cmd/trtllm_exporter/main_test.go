package main

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
	"github.com/trtllm-exporter/trtllm_exporter/tools/fixture"
)

func TestMain(m *testing.M) {
	testscript.Main(waiting{m}, map[string]func(){program: main, endless: workEndlessly, signalCounter: countSignals})
}

// waiting runs more tests at once than there are processors, since most of them wait for programs.
type waiting struct{ *testing.M }

// Run implements testscript.TestingM.
func (m waiting) Run() int {
	flag.Parse()
	if err := flag.Set("test.parallel", "8"); err != nil {
		panic(err)
	}
	return m.M.Run()
}

// programFile returns the path of this program.
func programFile(t *testing.T) string {
	t.Helper()
	return programAs(t, program)
}

// programAs returns the path of a program as which the test binary acts under its name, see TestMain.
func programAs(t *testing.T, name string) string {
	t.Helper()
	self, err := os.Executable()
	require.NoError(t, err)
	named := filepath.Join(t.TempDir(), name)
	require.NoError(t, os.Symlink(self, named))
	return named
}

// TestScripts runs the whole program as users do. Besides the commands of testscript there
// are:
//
//	freeport VAR              an address that nothing listens on
//	replica VAR KIND          a simulated server; VAR is the URL of its page, VAR_ADDR its host:port
//	server VAR TYPE FILE      a server that always answers with a file
//	secure VAR USER PASSWORD  a Triton behind TLS and a password; ca.pem is its CA
//	hang VAR                  a server that accepts and never answers
//	chatty VAR                a server that sends more after its answer
//	rude ADDR                 clients that speak something else, or break off
//	jsonlines FILE            every line of the file is a JSON object
//	eventually URL REGEXP     fetch until the answer matches
//	says FILE REGEXP          wait until the file matches
//	fetch [-m METHOD] [-H HEADER] URL [STATUS]
//	                          stdout is the answer; STATUS is 200 unless given
//	send SIGNAL...            HUP, INT or TERM to all programs in the background, unless they have ended
//	found CODE RESULT         the result of a case of docs/dev/faults.md
func TestScripts(t *testing.T) {
	// Under nohup all programs would ignore this signal; one that is caught here has its usual effect on them.
	signal.Notify(make(chan os.Signal, 1), syscall.SIGHUP)
	// P05.
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Cmds: map[string]func(ts *testscript.TestScript, neg bool, args []string){
			"freeport":   freePort,
			"replica":    startReplica,
			"server":     startServer,
			"hang":       startHanging,
			"secure":     startSecure,
			"chatty":     startChatty,
			"rude":       rude,
			"jsonlines":  jsonLines,
			"eventually": eventually,
			"says":       says,
			"fetch":      fetch,
			"send":       send,
		},
	})
}

func freePort(ts *testscript.TestScript, _ bool, args []string) {
	port, release, err := fixture.ClaimPorts("127.0.0.1", 1)
	ts.Check(err)
	ts.Defer(release)
	ts.Setenv(args[0], fmt.Sprintf("127.0.0.1:%d", port))
}

func startReplica(ts *testscript.TestScript, _ bool, args []string) {
	ctx, cancel := context.WithCancel(context.Background())
	fleet, err := simulate.StartFleet(ctx, simulate.FleetSpec{Pools: []simulate.PoolSpec{{
		Name: "pool", Replicas: []simulate.Spec{{
			Name: args[0], Kind: simulate.Kind(args[1]), Seed: 1, Speed: 5,
			EngineVersion: "2.64.0", TRTLLMVersion: "1.1.0",
			Workload: simulate.Workload{Rate: 10, PromptTokens: 100, OutputTokens: 30},
		}},
	}}})
	ts.Check(err)
	ts.Defer(func() {
		cancel()
		fleet.Close()
	})
	r := fleet.Replica("pool", args[0])
	ts.Setenv(args[0], r.MetricsURL())
	ts.Setenv(args[0]+"_ADDR", r.MetricsAddr())
}

func startServer(ts *testscript.TestScript, _ bool, args []string) {
	body := []byte(ts.ReadFile(args[2]))
	contentType := args[1]
	listen(ts, args[0], func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = w.Write(body)
	})
}

func startSecure(ts *testscript.TestScript, _ bool, args []string) {
	const text = "# TYPE nv_inference_request_success counter\n" +
		"nv_inference_request_success{model=\"m\",version=\"1\"} 1\n"
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if user, password, _ := r.BasicAuth(); user != args[1] || password != args[2] {
			http.Error(w, "who are you?", http.StatusUnauthorized)
			return
		}
		if r.URL.Path == "/metrics" {
			_, _ = io.WriteString(w, text)
		}
	}))
	s.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	s.StartTLS()
	ts.Defer(s.Close)
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	ts.Check(os.WriteFile(ts.MkAbs("ca.pem"), ca, 0o600))
	ts.Setenv(args[0]+"_ADDR", s.Listener.Addr().String())
}

// startChatty starts a server whose responses make net/http log with the standard library.
func startChatty(ts *testscript.TestScript, _ bool, args []string) {
	listen(ts, args[0], func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			return
		}
		const text = "nv_inference_request_success{model=\"m\",version=\"1\"} 1\n"
		_, _ = fmt.Fprintf(conn, "HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: %d\r\n\r\n%sand "+
			"another thing", len(text), text)
		_ = conn.Close()
	})
}

// rude behaves like port scanners and impatient clients.
func rude(ts *testscript.TestScript, _ bool, args []string) {
	for _, text := range []string{
		"", "\x16\x03\x01\x00", "SSH-2.0-scanner\r\n\r\n", "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n",
		"GET /metrics HTTP/9.9\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", args[0])
		ts.Check(err)
		_, err = io.WriteString(conn, text)
		ts.Check(err)
		ts.Check(conn.Close())
	}
}

func jsonLines(ts *testscript.TestScript, _ bool, args []string) {
	for line := range strings.Lines(ts.ReadFile(args[0])) {
		var object map[string]any
		if err := json.Unmarshal([]byte(line), &object); err != nil {
			ts.Fatalf("not JSON: %s", line)
		}
	}
}

// startHanging starts a server that only answers when the client disconnects.
func startHanging(ts *testscript.TestScript, _ bool, args []string) {
	listen(ts, args[0], func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
}

func listen(ts *testscript.TestScript, name string, handler http.HandlerFunc) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	ts.Check(err)
	server := &http.Server{Handler: handler, ReadHeaderTimeout: waitsAtMost}
	done := make(chan struct{})
	go func() {
		defer close(done)
		_ = server.Serve(l)
	}()
	ts.Defer(func() {
		_ = server.Close()
		<-done
	})
	ts.Setenv(name, "http://"+l.Addr().String()+"/metrics")
	ts.Setenv(name+"_ADDR", l.Addr().String())
}

// waitsAtMost is how long tests wait on a busy machine.
const waitsAtMost = 3 * time.Minute

// eventually waits until a response matches, or with ! until it does not.
func eventually(ts *testscript.TestScript, neg bool, args []string) {
	untilMatches(ts, neg, args, func() (string, error) {
		body, _, err := ask(http.MethodGet, args[0], nil)
		return body, err
	})
}

// says waits until a file matches.
func says(ts *testscript.TestScript, neg bool, args []string) {
	untilMatches(ts, neg, args, func() (string, error) {
		text, err := os.ReadFile(ts.MkAbs(args[0]))
		return string(text), err
	})
}

// untilMatches reads a text until it matches the second argument.
func untilMatches(ts *testscript.TestScript, neg bool, args []string, read func() (string, error)) {
	pattern, err := regexp.Compile("(?m)" + args[1])
	ts.Check(err)
	deadline := time.Now().Add(waitsAtMost)
	var last string
	for time.Now().Before(deadline) {
		text, err := read()
		if last = text; err == nil && pattern.MatchString(text) != neg {
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
	ts.Fatalf("%s said to the end:\n%s", args[0], last)
}

func fetch(ts *testscript.TestScript, _ bool, args []string) {
	method, header := http.MethodGet, http.Header{}
	for len(args) > 1 && strings.HasPrefix(args[0], "-") {
		switch args[0] {
		case "-m":
			method = args[1]
		case "-H":
			name, value, _ := strings.Cut(args[1], ":")
			header.Set(name, strings.TrimSpace(value))
		}
		args = args[2:]
	}
	want := http.StatusOK
	if len(args) > 1 {
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		want = status
	}
	body, status, err := ask(method, args[0], header)
	ts.Check(err)
	_, err = io.WriteString(ts.Stdout(), body)
	ts.Check(err)
	if status != want {
		ts.Fatalf("status %d instead of %d:\n%s", status, want, body)
	}
}

// ask sends a request on its own connection.
func ask(method, url string, header http.Header) (string, int, error) {
	request, err := http.NewRequestWithContext(context.Background(), method, url, http.NoBody)
	if err != nil {
		return "", 0, err
	}
	request.Header = header
	transport := &http.Transport{DisableKeepAlives: true, DisableCompression: true}
	client := &http.Client{Transport: transport, Timeout: waitsAtMost}
	response, err := client.Do(request)
	if err != nil {
		return "", 0, err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	return string(body), response.StatusCode, err
}

func send(ts *testscript.TestScript, _ bool, args []string) {
	signals := map[string]os.Signal{"HUP": syscall.SIGHUP, "INT": syscall.SIGINT, "TERM": syscall.SIGTERM}
	for _, name := range args {
		if signals[name] == nil {
			ts.Fatalf("unknown signal %s", name)
		}
		for _, cmd := range ts.BackgroundCmds() {
			if err := cmd.Process.Signal(signals[name]); !errors.Is(err, os.ErrProcessDone) {
				ts.Check(err)
			}
		}
	}
}

// full is a file on a full disk.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, syscall.ENOSPC }

func TestHelpThatCannotBeWrittenFails(t *testing.T) {
	for _, args := range [][]string{{"help"}, {"--help"}, {"help", "serve"}, {"serve", "--help"}, {"--version"}} {
		var stderr bytes.Buffer
		require.Equal(t, exitFailure, run(args, full{}, &stderr), "%q", args)
		require.Contains(t, stderr.String(), "no space left on device", "%q", args)
	}
}

func TestMemoryLimitLeavesMargin(t *testing.T) {
	for text, want := range map[string]int64{
		"1073741824\n":        966367642,
		"268435456\n":         218103808,
		"67108864\n":          50331648,
		"1000\n":              750,
		"max\n":               0,
		"":                    0,
		"-5":                  0,
		"9223372036854771712": 0,
	} {
		require.Equal(t, want, memoryLimit(text), "%q", text)
	}
}

func TestSmallestControlGroupLimitApplies(t *testing.T) {
	for _, c := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"none", nil, 0},
		{
			"a container in the root group",
			map[string]string{procCgroup: "0::/\n", "/sys/fs/cgroup/memory.max": "1000\n"},
			750,
		},
		{"a container without its group", map[string]string{"/sys/fs/cgroup/memory.max": "1000\n"}, 750},
		{
			"a service of systemd",
			map[string]string{
				procCgroup: "0::/system.slice/a.service\n",
				"/sys/fs/cgroup/system.slice/a.service/memory.max": "1000\n",
				"/sys/fs/cgroup/system.slice/memory.max":           "max\n",
			},
			750,
		},
		{
			"a slice with a lower limit than its service",
			map[string]string{
				procCgroup: "0::/system.slice/a.service\n",
				"/sys/fs/cgroup/system.slice/a.service/memory.max": "1000\n",
				"/sys/fs/cgroup/system.slice/memory.max":           "500\n",
			},
			375,
		},
		{
			"control groups of the first version",
			map[string]string{
				procCgroup: "3:cpu,cpuacct:/b\n2:memory:/a\n0::/\n",
				"/sys/fs/cgroup/memory/a/memory.limit_in_bytes": "1000\n",
				"/sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			},
			750,
		},
	} {
		require.Equal(t, c.want, cgroupMemory(func(name string) string { return c.files[name] }), c.name)
	}
}

func TestContradictingSourceFlagsAreRejected(t *testing.T) {
	for _, c := range []struct {
		name   string
		source sourceFlags
		want   string
	}{
		{"file and target", sourceFlags{file: "a", targets: []string{"b"}}, "both given"},
		{"nothing", sourceFlags{}, "nothing to scrape"},
		{"times with a file", sourceFlags{file: "a", interval: time.Second}, "global.scrape_interval"},
		{"a time that is no time", sourceFlags{targets: []string{"a"}, interval: time.Nanosecond}, "must be 1ms or longer"},
		{"negative", sourceFlags{targets: []string{"a"}, timeout: -time.Second}, "must be 1ms or longer"},
		{"longer than the window", sourceFlags{targets: []string{"a"}, interval: time.Minute}, "global.window"},
	} {
		t.Run(c.name, func(t *testing.T) {
			require.ErrorContains(t, c.source.check(), c.want)
		})
	}
}

package main

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/simulate"
)

func typed(line string) []string {
	for _, end := range []string{" #", " | ", " > ", " &"} {
		line, _, _ = strings.Cut(line, end)
	}
	words, quoted := regexp.MustCompile(`(?:'[^']*'|"[^"]*"|[^\s'"]|['"])+`), regexp.MustCompile(`'([^']*)'|"([^"]*)"`)
	var args []string
	for _, word := range words.FindAllString(line, -1) {
		args = append(args, quoted.ReplaceAllString(word, "$1$2"))
	}
	return args
}

type placed struct {
	// The arguments in documents are replaced by: pages of simulated servers, a file with
	// one of them, a file that four exporters share, and the address of a running exporter.
	pages                  []string
	file, shared, exporter string
}

func (p *placed) put(args []string) []string {
	servers := regexp.MustCompile(`^(https?://)?(HOST:PORT|[\w.-]+:80\d\d|URL)(/metrics)?$`)
	exporters := regexp.MustCompile(`^(http://)?[\w.-]*:9802(/-/ready)?$`)
	files := regexp.MustCompile(`^(FILE|[\w./-]+\.yml)$`)
	args = slices.Clone(args)
	file, used := p.file, 0
	if slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--sharding.index") }) {
		file = p.shared
	}
	for i, a := range args {
		flag, value, has := strings.Cut(a, "=")
		if !has || !strings.HasPrefix(flag, "--") {
			flag, value = "", a
		}
		switch {
		case flag == "--web.listen-address":
			value = "127.0.0.1:0"
		case servers.MatchString(value):
			value = p.pages[used%len(p.pages)]
			used++
		case exporters.MatchString(value):
			value = "http://" + p.exporter + exporters.FindStringSubmatch(value)[2]
		case value == "kinds.yml":
			value = "../../docs/examples/kinds/kserve-vllm.yml"
		case value == "page.txt":
			value = "../../collector/testdata/declared/kserve-vllm.prom"
		case files.MatchString(value):
			value = file
		case value == "FOLDER":
			value = filepath.Dir(file)
		}
		if args[i] = value; flag != "" {
			args[i] = flag + "=" + value
		}
	}
	return args
}

// TestDocumentedCommandsRun runs every line of this program in the documents with a simulated
// server: commands succeed, the exporter serves, the demo shows its fleet, and top its replicas.
func TestDocumentedCommandsRun(t *testing.T) {
	t.Parallel()
	fleet, err := simulate.StartFleet(t.Context(), demoFleet(2, 1))
	require.NoError(t, err)
	t.Cleanup(fleet.Close)
	server, dir := fleet.Pools()[0].Replicas[0], t.TempDir()
	p := &placed{file: filepath.Join(dir, "trtllm_exporter.yml"), shared: filepath.Join(dir, "shared.yml")}
	for _, pool := range fleet.Pools() {
		for _, r := range pool.Replicas {
			p.pages = append(p.pages, r.MetricsURL())
		}
	}
	pools := "pools:\n  - pool_id: p\n    static_configs: [ " +
		"{ targets: [" + server.MetricsAddr() + "], labels: { replica_id: r0 } } ]\n"
	require.NoError(t, os.WriteFile(p.file, []byte(pools), 0o600))
	require.NoError(t, os.WriteFile(p.shared, []byte("sharding: { total: 4 }\n"+pools), 0o600))
	long := startLong(t, []string{
		"--target", server.MetricsURL(), "--scrape.interval=1s", "--web.listen-address=127.0.0.1:0",
	})
	p.exporter = long.address(t)
	long.serves(t, "http://"+p.exporter+"/-/ready", "Ready")
	seen := map[string]bool{}
	for _, c := range commandsOf(t, program, "bin/"+program) {
		given := typed(c.line)[1:]
		name := strings.Join(given, " ")
		if seen[name] {
			continue
		}
		seen[name] = true
		t.Run(filepath.Base(c.file)+": "+name, func(t *testing.T) {
			t.Parallel()
			runLine(t, p, given)
		})
	}
	require.GreaterOrEqual(t, len(seen), 20, "the documents have commands")
}

func runLine(t *testing.T, p *placed, given []string) {
	t.Helper()
	args := p.put(given)
	if args[0] == "record" {
		args = brief(args)
	}
	app, _, _ := commandLine(io.Discard, io.Discard)
	ended := false
	app.Terminate(func(int) { ended = true })
	chosen, err := app.Parse(args)
	switch {
	case ended:
		return // Help, version or completions.
	case len(args) == 1 && slices.Contains([]string{"check-config", "doctor", "record"}, args[0]):
		require.Equal(
			t,
			exitUsage,
			run(args, io.Discard, io.Discard),
			"text names the command; it wants something to look at",
		)
		return
	}
	require.NoError(t, err)
	switch chosen {
	case "serve":
		x := startLong(t, append(args, "--web.listen-address=127.0.0.1:0"))
		x.serves(t, "http://"+x.address(t)+"/metrics", `(?m)^trtllm_exporter_build_info`)
		x.interrupt(t)
	case "demo":
		if !slices.ContainsFunc(args, func(a string) bool { return strings.HasPrefix(a, "--web.listen-address") }) {
			args = append(args, "--web.listen-address=127.0.0.1:0")
		}
		x := startLong(t, args)
		x.serves(t, "http://"+x.address(t)+"/", "All .* replicas serve|of . replicas")
		x.interrupt(t)
	case "top":
		runTop(t, p, args)
	case "healthcheck":
		require.Equal(
			t,
			exitOK,
			run(
				append([]string{chosen}, cmp.Or(strings.Join(args[1:], ""), "http://"+p.exporter+"/-/ready")),
				io.Discard,
				io.Discard,
			),
		)
	default:
		var out, problems bytes.Buffer
		code := run(args, &out, &problems)
		if chosen == "doctor" && code == exitFailure {
			code = exitOK // A simulated server exposes all it can.
		}
		if slices.Contains(args, "--draft-kind") {
			require.Contains(t, problems.String(), "built-in kind", "a simulated server needs no file")
			return
		}
		require.Equal(t, exitOK, code, "%v\n%s%s", args, out.String(), problems.String())
		require.NotEmpty(t, out.String())
	}
}

// brief shortens a recording, and replaces the command that it is around.
func brief(args []string) []string {
	for i, arg := range args {
		switch {
		case arg == "--":
			return append(slices.Clone(args[:i+1]), "true")
		case i > 0 && args[i-1] == "--for":
			args[i] = "1s"
		}
	}
	return args
}

// runTop runs a line of top, in a terminal unless it is for scripts. By default it uses the
// exporter on this machine.
func runTop(t *testing.T, p *placed, args []string) {
	t.Helper()
	if !slices.ContainsFunc(args, func(a string) bool {
		return strings.HasPrefix(a, "http") || strings.HasPrefix(a, "--target") || strings.HasPrefix(a, "--config.file")
	}) {
		args = append(args, p.exporter)
	}
	if slices.Contains(args, "--once") || slices.Contains(args, "--json") {
		var out, problems bytes.Buffer
		require.Equal(t, exitOK, run(args, &out, &problems), problems.String())
		require.Contains(t, out.String(), "replica")
		return
	}
	x := openTerminal(t, args...)
	x.shows(`replica`)
	x.press("q")
	x.shows(`^ended with 0$`)
}

// long is this program as a process that runs until a signal.
type long struct {
	cmd  *exec.Cmd
	said chan string // Lines of both outputs.
	seen []string
}

// startLong starts this program. The last one of repeated flags counts.
func startLong(t *testing.T, args []string) *long {
	t.Helper()
	x := &long{cmd: exec.Command(programFile(t), args...), said: make(chan string, 1000)}
	r, w, err := os.Pipe()
	require.NoError(t, err)
	x.cmd.Stdout, x.cmd.Stderr = w, w
	require.NoError(t, x.cmd.Start())
	require.NoError(t, w.Close())
	go func() {
		defer r.Close()
		defer close(x.said)
		for lines := bufio.NewScanner(r); lines.Scan(); {
			x.said <- lines.Text()
		}
	}()
	t.Cleanup(func() {
		if x.cmd.ProcessState == nil {
			_ = x.cmd.Process.Kill()
			_ = x.cmd.Wait()
		}
	})
	return x
}

// address returns the address in its log.
func (x *long) address(t *testing.T) string {
	t.Helper()
	listens := regexp.MustCompile(`(?:msg="Listening on".* address=|http://)(127\.0\.0\.1:\d+)(?:$|/)`)
	timeout := time.After(waitsAtMost)
	for {
		select {
		case line, more := <-x.said:
			require.True(t, more, "it ended:\n%s", strings.Join(x.seen, "\n"))
			if found := listens.FindStringSubmatch(line); found != nil && !strings.Contains(line, "metrics") {
				return found[1]
			}
			x.seen = append(x.seen, line)
		case <-timeout:
			require.FailNow(t, "it does not say where it listens", strings.Join(x.seen, "\n"))
		}
	}
}

func (*long) serves(t *testing.T, url, want string) {
	t.Helper()
	var got string
	require.Eventually(t, func() bool {
		text, status, err := ask(http.MethodGet, url, nil)
		got = text
		return err == nil && status == http.StatusOK && regexp.MustCompile(want).MatchString(text)
	}, waitsAtMost, 100*time.Millisecond, "%s %s", url, got)
}

// interrupt sends Ctrl-C and requires success.
func (x *long) interrupt(t *testing.T) {
	t.Helper()
	require.NoError(t, x.cmd.Process.Signal(syscall.SIGINT))
	for line := range x.said {
		x.seen = append(x.seen, line)
	}
	require.NoError(t, x.cmd.Wait(), strings.Join(x.seen, "\n"))
}

func TestDocumentedMakeTargetsExist(t *testing.T) {
	if _, err := exec.LookPath("make"); err != nil {
		t.Skip("there is no make")
	}
	makefile, err := os.ReadFile("../../Makefile")
	require.NoError(t, err)
	planned := map[string]bool{}
	for _, c := range commandsOf(t, "make") {
		args := typed(c.line)[1:]
		line := strings.Join(args, " ")
		require.Regexp(t, `(?m)^`+regexp.QuoteMeta(args[0])+`:`, string(makefile), "%s: %s", c.file, c.line)
		// Even with -n make runs the recursive lines of some targets.
		if planned[line] ||
			regexp.MustCompile(`(?m)^`+regexp.QuoteMeta(args[0])+`:.*\n(?:\t.*\n)*?\t.*\$\(MAKE\)`).
				MatchString(string(makefile)) {
			continue
		}
		planned[line] = true
		out, err := exec.CommandContext(t.Context(), "make", append([]string{"-C", "../..", "-n"}, args...)...).
			CombinedOutput()
		require.NoError(t, err, "%s: %s\n%s", c.file, c.line, out)
	}
	require.Greater(t, len(planned), 10)
}

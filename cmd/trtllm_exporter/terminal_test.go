package main

import (
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// terminal is a tmux window of 80 by 24 with a program.
type terminal struct {
	t      *testing.T
	socket string
}

// noInput redirects the input of a program in a terminal.
const noInput = "</dev/null"

// openTerminal runs this program in a terminal that stays open after it ends.
func openTerminal(t *testing.T, args ...string) *terminal {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		require.NotEqual(t, "true", os.Getenv("CI"), "CI must have tmux")
		t.Skip("there is no tmux")
	}
	dir, err := os.MkdirTemp("", "tmux") //nolint:usetesting // Paths of sockets must be short.
	require.NoError(t, err)
	x := &terminal{t, filepath.Join(dir, "s")}
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", x.socket, "kill-server").Run()
		_ = os.RemoveAll(dir)
	})
	line := []string{programFile(t)}
	for _, a := range args {
		if a != noInput {
			a = "'" + a + "'"
		}
		line = append(line, a)
	}
	x.tmux(
		"-f",
		os.DevNull,
		"new-session",
		"-d",
		"-x",
		"80",
		"-y",
		"24",
		strings.Join(line, " ")+"; echo ended with $?; exec sleep 600",
	)
	return x
}

func (x *terminal) tmux(args ...string) string {
	x.t.Helper()
	cmd := exec.CommandContext(x.t.Context(), "tmux", append([]string{"-S", x.socket}, args...)...)
	cmd.Env = append(os.Environ(), "TERM=xterm-256color", "TMUX=", "LC_ALL=C.UTF-8")
	out, err := cmd.CombinedOutput()
	require.NoError(x.t, err, "tmux %v: %s", args, out)
	return string(out)
}

// press sends keys by their tmux names.
func (x *terminal) press(keys ...string) { x.tmux(append([]string{"send-keys"}, keys...)...) }
func (x *terminal) typed(text string)    { x.tmux("send-keys", "-l", text) }

func (x *terminal) screen() string { return x.tmux("capture-pane", "-p") }

// shows waits until the screen shows a pattern, on a busy machine for as long as tests may run.
func (x *terminal) shows(pattern string) string {
	x.t.Helper()
	want := regexp.MustCompile("(?m)" + pattern)
	end, ends := x.t.Deadline()
	for {
		seen := x.screen()
		if want.MatchString(seen) {
			return seen
		}
		require.True(x.t, !ends || time.Until(end) > time.Minute, "%s is not on the screen:\n%s", pattern, seen)
		wait(x.t.Context(), 100*time.Millisecond)
	}
}

func first(screen, text string) int {
	return slices.IndexFunc(strings.Split(screen, "\n"), func(line string) bool { return strings.Contains(line, text) })
}

func TestTopKeys(t *testing.T) {
	t.Parallel()
	fleet := openTerminal(t, "demo", "--fault", "stall", "--web.listen-address", "127.0.0.1:0")
	address := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(fleet.shows(`fleet +http://127\.0\.0\.1:\d+/`))[1]
	x := openTerminal(t, "top", "--every", "500ms", address)

	seen := x.shows(`^5 of 6 replicas serve: 1 is stalled\.`)
	require.Regexp(t, `(?m)^stalled +llama-70b-1 `, seen, "the worst is the first row")
	require.Less(t, first(seen, "llama-70b-prod: "), first(seen, "qwen-7b-chat: "), "the worst pool comes first")
	require.Regexp(t, `nothing\s+there\s+has\s+moved`, seen, "the reason of what is under the cursor, folded")

	x.press("s")
	seen = x.shows(`sort: name`)
	require.Less(t, first(seen, "llama-70b-prod / llama-70b-0"), first(seen, "llama-70b-prod / llama-70b-1"))
	x.press("s")
	seen = x.shows(`sort: tokens`)
	require.Less(
		t,
		first(seen, "qwen-7b-chat / qwen-7b-"),
		first(seen, "llama-70b-prod / llama-70b-1"),
		"what makes no tokens is last",
	)
	x.press("S", "S")
	x.shows(`sort: worst`)

	x.press("/")
	x.typed("QWEN")
	seen = x.shows(`^/QWEN`)
	require.NotContains(t, seen, "llama-70b-0 ")
	x.press("Enter")
	x.shows(`^/QWEN, 3 of 6`)
	x.press("Escape")
	x.shows(`llama-70b-0 `)

	x.press("e")
	seen = x.shows(`only problems, 1 of 6`)
	require.NotContains(t, seen, "qwen-7b-0")
	x.press("Escape")
	x.shows(`qwen-7b-0`)

	x.press("Home", "Enter")
	seen = x.shows(`^llama-70b-prod / llama-70b-1 +stalled`)
	require.Contains(t, seen, "/runbook#llmreplicabroken")
	x.press("End")
	x.shows(`trtllm_exporter doctor --api-port \d+`)
	x.press("Escape")
	x.shows(`qwen-7b-0`)

	x.tmux("resize-window", "-x", "44", "-y", "14")
	seen = x.shows(`^STATE +REPLICA +TOK/S +WAIT$`)
	require.Regexp(t, `(?m)^stalled +llama-70b-1`, seen)
	for line := range strings.SplitSeq(seen, "\n") {
		require.LessOrEqual(t, len([]rune(line)), 44, line)
	}
	x.tmux("resize-window", "-x", "120", "-y", "30")
	x.shows(`REQUEST FAILED +SINCE VERSION`)

	fleet.press("C-c")
	seen = x.shows(`No answer since \d\d:\d\d:\d\d, showing the last one`)
	require.Contains(t, seen, "llama-70b-1", "the last is kept")

	x.press("q")
	x.shows(`^ended with 0$`)
}

func TestTopWithoutExporter(t *testing.T) {
	t.Parallel()
	fleet := openTerminal(t, "demo", "--calm", "--replicas", "1", "--web.listen-address", "127.0.0.1:0")
	page := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(fleet.shows(`fleet +http://127\.0\.0\.1:\d+/`))[1]
	x := openTerminal(t, "top", page)
	x.shows(`^The only replica serves`)
	x.press("Enter")
	server := regexp.MustCompile(`page +(http://\S+)`).FindStringSubmatch(x.shows(`page +http://\S+`))[1]
	direct := openTerminal(t, "top", "--target", server)
	seen := direct.shows(`^The only replica (serves|\w+)`)
	require.Contains(t, seen, strings.TrimPrefix(server[:strings.LastIndex(server, "/")], "http://"))
	direct.press("C-c")
	direct.shows(`^ended with 0$`)
}

// signalCounter is a program that prints "begun", and three seconds later how many SIGINT it got meanwhile.
const signalCounter = "count_signals"

func countSignals() {
	signals := make(chan os.Signal, 10)
	signal.Notify(signals, os.Interrupt)
	fmt.Println("begun")
	time.Sleep(3 * time.Second)
	_ = os.WriteFile(os.Args[1], []byte(strconv.Itoa(len(signals))), 0o600)
}

// TestRecordedCommandGetsOneSignal has a terminal send a Ctrl-C to a recording and its command, wherever their input
// comes from: many programs drop what they have at a second one.
func TestRecordedCommandGetsOneSignal(t *testing.T) {
	t.Parallel()
	fleet := openTerminal(t, "demo", "--calm", "--replicas", "1", "--web.listen-address", "127.0.0.1:0")
	page := regexp.MustCompile(`http://(127\.0\.0\.1:\d+)/`).FindStringSubmatch(fleet.shows(`fleet +http://127\.0\.0\.1:\d+/`))[1]
	fleet.shows(`no request waits`)
	x := openTerminal(t, "top", page)
	x.shows(`^The only replica serves`)
	x.press("Enter")
	server := regexp.MustCompile(`page +(http://\S+)`).FindStringSubmatch(x.shows(`page +http://\S+`))[1]
	for name, input := range map[string][]string{"from the terminal": nil, "from a file": {noInput}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			signals := filepath.Join(t.TempDir(), "signals")
			args := slices.Concat([]string{"record", "--interval", "100ms", "--target", server}, input,
				[]string{"--", programAs(t, signalCounter), signals})
			recording := openTerminal(t, args...)
			recording.shows(`^begun$`)
			recording.press("C-c")
			recording.shows(`^ended with \d+$`)
			got, err := os.ReadFile(signals)
			require.NoError(t, err)
			require.Equal(t, "1", string(got))
		})
	}
}

func TestDemoFaultsAreReported(t *testing.T) {
	t.Parallel()
	for i, name := range faultNames() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x := openTerminal(
				t,
				"demo",
				"--disaggregated",
				"--fault",
				name,
				"--replicas",
				strconv.Itoa(2+i%2),
				"--web.listen-address",
				"127.0.0.1:0",
			)
			x.shows(`after \d+ s the exporter reports: `)
		})
	}
}

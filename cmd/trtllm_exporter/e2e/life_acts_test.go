//go:build (e2e_triton || e2e_dynamo || e2e_vllm) && linux

package e2e

import (
	"fmt"
	"strings"
	"syscall"
	"time"

	"github.com/stretchr/testify/require"
)

func launch(s *server, flags ...string) act {
	return func(l *life) {
		s.launch(flags...)
		l.happened = time.Now()
	}
}

// serve waits until a launched server serves.
func serve(s *server) act {
	return func(l *life) {
		s.await(l.t)
		l.happened = time.Now()
	}
}

// kill ends a server at once, or one of its processes.
func kill(s *server, part string) act {
	if part != "" {
		return signals(s, syscall.SIGKILL, part)
	}
	return func(l *life) {
		l.happened = time.Now()
		s.kill(l.t)
	}
}

// freeze stops the processes of a server, or one of them, until thaw.
func freeze(s *server, part string) act { return signals(s, syscall.SIGSTOP, part) }

func thaw(s *server, part string) act { return signals(s, syscall.SIGCONT, part) }

func signals(s *server, signal syscall.Signal, part string) act {
	return func(l *life) {
		l.happened = time.Now()
		s.signal(l.t, signal, part)
	}
}

// terminate asks a server to end, like a container runtime.
func terminate(s *server) act {
	return func(l *life) {
		l.happened = time.Now()
		require.NoError(l.t, syscall.Kill(s.cmd.Process.Pid, syscall.SIGTERM))
	}
}

// post sends a request to the API of a server, if need be with a body of JSON.
func post(s *server, path string, body ...string) act {
	return func(l *life) {
		s.post(l.t, path, strings.Join(body, ""))
		l.happened = time.Now()
	}
}

// load starts n requests at the client's server.
func load(n, words, tokens int) act {
	return func(l *life) {
		l.load = append(l.load, l.client.crowd(l.whole, n, request{words: words, tokens: tokens}))
	}
}

// busy starts n requests when none runs any more, and waits until they run.
func busy(n, words, tokens int) act {
	return func(l *life) {
		running(0)(l)
		load(n, words, tokens)(l)
		running(n)(l)
	}
}

func running(n int, of ...string) act {
	return shows(has(float64(n), "llm_server_requests_running", of...))
}

// complete waits until all requests have all of their tokens.
func complete(l *life) {
	for _, c := range l.load {
		c.requireComplete(l.t)
	}
	l.load = nil
}

// leave ends all requests like clients that disconnect.
func leave(l *life) {
	for _, c := range l.load {
		c.leave()
	}
	l.load = nil
}

func pauses(d time.Duration) act { return func(l *life) { pause(l.t.Context(), d) } }

func shows(wanted ...value) act { return func(l *life) { l.shows(wanted...) } }

// exposes waits until the page of a server itself has all these values.
func exposes(s *server, wanted ...value) act { return func(l *life) { s.shows(l.t, wanted...) } }

// answering requires that the API of a server answers with a status, within a time; 0 for no answer.
func answering(s *server, path string, status int, within time.Duration) act {
	return func(l *life) {
		await(l.t, within, func() string {
			if got := s.status(l.t, path); got != status {
				return fmt.Sprintf("%s of %s: wanted %d, got %d", path, s.name, status, got)
			}
			return ""
		})
	}
}

// crowded sends more requests than run at once, and compares running, waiting, completed requests and
// their tokens with what the client knows. Now has the labels of the first two, ended of the others.
func crowded(run, wait, words, tokens int, now, ended []string) act {
	return func(l *life) {
		n := run + wait
		before := l.page()
		load(n, words, tokens)(l)
		l.shows(
			has(float64(run), "llm_server_requests_running", now...),
			has(float64(wait), "llm_server_queue_depth", now...),
		)
		complete(l)
		l.shows(
			has(0, "llm_server_requests_running", now...),
			before.more(n*tokens, "llm_server_generation_tokens_total", ended...),
			before.more(n*words, "llm_server_prompt_tokens_total", ended...),
			before.more(n, "llm_server_requests_total", append([]string{"class", "ok"}, ended...)...),
		)
	}
}

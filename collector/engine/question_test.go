package engine_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/trtllm-exporter/trtllm_exporter/collector/engine"
)

// round is how long one round of questions may take.
const round = 4 * time.Second

// manyModels is a Triton with so many models, of which the first few hang over
// their configs.
func manyModels(models, hanging int, changes ...string) answers {
	a := answers{"/v2": metadata}
	rows := make([]string, 0, models)
	for i := range models {
		name := fmt.Sprintf("m%02d", i)
		rows = append(rows, fmt.Sprintf(`{"name":%q,"version":"1","state":"READY"}`, name))
		a["/v2/models/"+name+"/config"] = fmt.Sprintf(`{"name":%q,"backend":"python"}`, name)
		if i < hanging {
			a["/v2/models/"+name+"/config"] = hangs
		}
	}
	a["/v2/repository/index"] = "[" + strings.Join(rows, ",") + "]"
	for i := 0; i+1 < len(changes); i += 2 {
		a[changes[i]] = changes[i+1]
	}
	return a
}

// configured counts the models whose configs are known.
func configured(f *engine.Facts) (n int) {
	for i := range f.Models {
		if f.Models[i].Configured {
			n++
		}
	}
	return n
}

func TestAQuestionThatHangsDelaysNoOther(t *testing.T) {
	for _, c := range []struct {
		says   string
		server answers
		// What is reported early, and in the end.
		version             string
		models, early, last int
	}{
		{"nothing hangs", manyModels(12, 0), "2.64.0", 12, 12, 12},
		{"one config hangs", manyModels(12, 1), "2.64.0", 12, 11, 11},
		{"as many configs hang as are asked at once", manyModels(12, 4), "2.64.0", 12, 0, 8},
		{"the version hangs", manyModels(12, 0, "/v2", hangs), "", 12, 12, 12},
		{"the index hangs", manyModels(12, 0, "/v2/repository/index", hangs), "2.64.0", 0, 0, 0},
	} {
		t.Run(c.says, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				e, ok := engine.Of(string(engine.Triton))
				require.True(t, ok)
				ctx, cancel := context.WithTimeout(t.Context(), round)
				defer cancel()
				start := time.Now()
				var early []engine.Facts
				f := e.Ask(ctx, c.server, "http://server", func(known engine.Facts) {
					require.LessOrEqual(t, time.Since(start), round/8)
					early = append(early, known)
				})
				require.Less(t, time.Since(start), round, "a round ends before its time")
				require.Equal(t, c.version, f.EngineVersion)
				require.Len(t, f.Models, c.models)
				require.Equal(t, c.last, configured(&f))
				if c.says == "nothing hangs" {
					require.Empty(t, early, "what comes at once is reported once")
					require.Empty(t, f.Problems)
					return
				}
				require.Equal(t, round/2, time.Since(start), "a question has half of the round")
				require.Len(t, early, 1)
				require.Equal(t, c.version, early[0].EngineVersion)
				require.Len(t, early[0].Models, c.models)
				require.Equal(t, c.early, configured(&early[0]))
				require.Empty(t, early[0].Problems, "nothing has failed yet")
				require.NotEmpty(t, f.Problems)
				for _, p := range f.Problems {
					require.Equal(t, "no answer in time", p.Reason)
				}
			})
		})
	}
}

func TestWhatFailedIsNoProblemYetWhileOthersMayAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), round)
		defer cancel()
		server := manyModels(1, 0, "/v2", hangs, "/v2/models/m00/config", "<html>")
		var early []engine.Facts
		f := of(t, engine.Triton).Ask(ctx, server, "http://server", func(known engine.Facts) { early = append(early, known) })
		require.Len(t, early, 1)
		require.Empty(t, early[0].Problems)
		require.Equal(t, []engine.Problem{
			{Question: "GET /v2", Reason: "no answer in time"}, {Question: "GET /v2/models/m00/config", Reason: "answers text that is no JSON", Stray: true},
		}, f.Problems)
	})
}

func TestAnswersComeInTheOrderOfTheModelsHoweverTheyCome(t *testing.T) {
	server := manyModels(20, 0, "/v2/models/m03/config", "<html>", "/v2/models/m11/config", "<html>")
	first := ask(t, engine.Triton, server)
	for range 20 {
		f := ask(t, engine.Triton, server)
		require.True(t, f.Equal(&first), "%+v\n%+v", f, first)
		require.Equal(t, "GET /v2/models/m03/config", f.Problems[0].Question)
		require.Equal(t, "GET /v2/models/m11/config", f.Problems[1].Question)
	}
}

func TestOfSeveralDeclaredVersionsTheLastModelsCounts(t *testing.T) {
	declares := func(name, version string) string {
		return fmt.Sprintf(`{"name":%q,"parameters":{"trtllm_version":{"string_value":%q}}}`, name, version)
	}
	server := manyModels(8, 0, "/v2/models/m02/config", declares("m02", "1.0.0"), "/v2/models/m06/config", declares("m06", "1.1.0"))
	for range 20 {
		f := ask(t, engine.Triton, server)
		require.Equal(t, "1.1.0", f.TRTLLMVersion)
	}
}

// breaks is a server whose asker panics over one path.
type breaks struct {
	answers

	path string
}

// Do implements engine.Asker.
func (b breaks) Do(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	if strings.HasSuffix(address, b.path) {
		panic("broken over " + b.path)
	}
	return b.answers.Do(ctx, method, address, body, limit)
}

func TestAPanicOverAnyQuestionReachesWhoPutTheRound(t *testing.T) {
	for path, over := range map[string]string{"/v2": ".askVersion(", "/v2/repository/index": ".askModels(", "/v2/models/m11/config": ".askConfig("} {
		panicked := func() (p any) {
			defer func() { p = recover() }()
			of(t, engine.Triton).Ask(t.Context(), breaks{manyModels(12, 0), path}, "http://server", nil)
			return nil
		}()
		require.Contains(t, panicked, "broken over "+path+"\n", "or nobody could tell that a round failed")
		require.Contains(t, panicked, over, "its own stack, not that of the round")
	}
}

// posted remembers what a server was asked with.
type posted struct {
	answers

	// Several questions are put side by side.
	mu     sync.Mutex
	bodies map[string]string
}

// Do implements engine.Asker.
func (p *posted) Do(ctx context.Context, method, address string, body []byte, limit int64) (int, http.Header, []byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.bodies[method+" "+strings.TrimPrefix(address, "http://server")] = string(body)
	return p.answers.Do(ctx, method, address, body, limit)
}

func TestWhatATritonIsAsked(t *testing.T) {
	server := &posted{answers: tritonServer(), bodies: make(map[string]string)}
	of(t, engine.Triton).Ask(t.Context(), server, "http://server", nil)
	require.Equal(t, map[string]string{"GET /v2": "", "POST /v2/repository/index": "{}", "GET /v2/models/tensorrt_llm/config": ""}, server.bodies)
}

func TestWhatBoundsAnswers(t *testing.T) {
	listed := func(names ...string) string {
		return `{"data":[{"id":"` + strings.Join(names, `"},{"id":"`) + `"}]}`
	}
	var many []string
	for i := range 1025 {
		many = append(many, fmt.Sprint("m", i))
	}
	f := ask(t, engine.NIM, answers{"/v1/models": listed(many...)})
	require.Len(t, f.Models, 1024)
	require.Equal(t, "m1023", f.Models[1023].Name)
	for length, kept := range map[int]bool{256: true, 257: false} {
		f := ask(t, engine.NIM, answers{"/v1/models": listed(strings.Repeat("m", length))})
		require.Equal(t, kept, len(f.Models) == 1, length)
		require.True(t, f.Listed)
	}
	for length, kept := range map[int]bool{64: true, 65: false} {
		version := strings.Repeat("1", length)
		f := ask(t, engine.NIM, answers{"/v1/version": `{"release":"` + version + `"}`})
		require.Equal(t, kept, f.EngineVersion == version, length)
		require.Equal(t, !kept, f.EngineVersion == "", length)
	}
	for _, version := range []string{"1.0\\u0000", "1.0\\ufffd", "\\u200b"} {
		f := ask(t, engine.NIM, answers{"/v1/version": `{"release":"` + version + `"}`})
		require.Empty(t, f.EngineVersion, version)
	}
	f = ask(t, engine.NIM, answers{"/v1/version": `{"release":" 1.0.0\n"}`})
	require.Equal(t, "1.0.0", f.EngineVersion)
}

func TestAnAnswerWithoutAListSaysNothingOfTheModels(t *testing.T) {
	before := ask(t, engine.VLLM, answers{"/v1/models": `{"data":[{"id":"tiny","owned_by":"vllm"}]}`})
	for _, text := range []string{`{}`, `null`, `{"error":"try again"}`, `{"data":null}`, `{"data":"tiny"}`} {
		f := ask(t, engine.VLLM, answers{"/v1/models": text, "/version": `{"version":"0.32.0"}`})
		require.False(t, f.Listed, text)
		require.Equal(t, []engine.Problem{{Question: "GET /v1/models", Reason: "answers JSON without a list of models"}}, f.Problems, text)
		require.Len(t, f.Over(&before).Models, 1, "what it listed before still counts")
	}
	f := ask(t, engine.VLLM, answers{"/v1/models": `{"data":[]}`})
	require.True(t, f.Listed)
	require.Empty(t, f.Over(&before).Models, "it has none any more")
}

//go:build e2e_triton && linux

package e2e

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// llmapiServer is a Triton with the LLM-API backend's interface and an engine that logs its
// iterations.
type llmapiServer struct {
	*tritonServer
	repository string
}

// settings are the keys of model.yaml that tests change.
type settings map[string]string

// newLLMAPI prepares a model, if module is set with the metrics module around the stock file.
func newLLMAPI(t *testing.T, r release, module bool, changed settings) *llmapiServer {
	t.Helper()
	s := &llmapiServer{tritonServer: newTriton(t, r), repository: t.TempDir()}
	s.env = append(s.env, "MODELS="+s.repository)
	s.addModel(t, "tensorrt_llm", 1, module, changed)
	return s
}

func (s *llmapiServer) addModel(t *testing.T, name string, instances int, module bool, changed settings) {
	t.Helper()
	root := repositoryRoot(t)
	folder := filepath.Join(s.repository, name, "1")
	require.NoError(
		t,
		os.CopyFS(filepath.Dir(folder), os.DirFS(filepath.Join(root, "tools/triton/llmapi/tensorrt_llm"))),
	)
	for _, file := range []string{"executor.py", "kvcache.py"} {
		copyFile(t, filepath.Join(root, "tools/triton/models/tensorrt_llm/1", file), folder)
	}
	if module {
		for _, file := range []string{"model.py", "trtllm_metrics.py"} {
			copyFile(t, filepath.Join(root, "deploy/triton/llmapi", file), folder)
		}
	} else {
		require.NoError(t, os.Rename(filepath.Join(folder, "stock_model.py"), filepath.Join(folder, "model.py")))
	}
	edit(t, filepath.Join(folder, "../config.pbtxt"), map[string]string{
		`name: "tensorrt_llm"`: fmt.Sprintf("name: %q", name),
		`count: \d+`:           fmt.Sprintf("count: %d", instances),
	})
	lines := map[string]string{`(?m)^truth: .*$`: "truth: " + s.truthFile(name)}
	for key, value := range changed {
		lines["(?m)^"+key+": .*$"] = key + ": " + value
	}
	edit(t, filepath.Join(folder, "model.yaml"), lines)
}

// addVersion copies the model as a second version, and serves both.
func (s *llmapiServer) addVersion(t *testing.T) {
	t.Helper()
	model := filepath.Join(s.repository, "tensorrt_llm")
	require.NoError(t, os.CopyFS(filepath.Join(model, "2"), os.DirFS(filepath.Join(model, "1"))))
	edit(
		t,
		filepath.Join(model, "config.pbtxt"),
		map[string]string{`backend: "python"`: "backend: \"python\"\nversion_policy: { all { } }"},
	)
}

func copyFile(t *testing.T, file, folder string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o644))
}

// edit replaces matches of expressions in a file; each must match.
func edit(t *testing.T, file string, replaced map[string]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for expression, by := range replaced {
		found := regexp.MustCompile(expression)
		require.Regexp(t, found, string(text))
		text = found.ReplaceAllLiteral(text, []byte(by))
	}
	require.NoError(t, os.WriteFile(file, text, 0o644))
}

func (s *llmapiServer) truthFile(model string) string {
	return filepath.Join(s.repository, model+".truth")
}

// iteration is the engine's last logged iteration.
type iteration struct{ Tokens, Iter float64 }

func (s *llmapiServer) iteration(t *testing.T) (last iteration) {
	t.Helper()
	text, err := os.ReadFile(s.truthFile("tensorrt_llm"))
	require.NoError(t, err)
	complete := text[:bytes.LastIndexByte(text, '\n')] // The last line may be incomplete.
	require.NoError(t, json.Unmarshal(complete[bytes.LastIndexByte(complete, '\n')+1:], &last))
	return last
}

func (s *llmapiServer) start(t *testing.T) {
	t.Helper()
	s.server.start(t, "--model-control-mode=explicit", "--load-model=tensorrt_llm")
}

// load and unload request it for a model, and wait for the index.
func (s *llmapiServer) load(t *testing.T, model string) {
	t.Helper()
	s.post(t, "/v2/repository/models/"+model+"/load", "")
	require.Equal(t, "READY", s.indexState(t, model), "state of %s in the index", model)
}

func (s *llmapiServer) unload(t *testing.T, model string) {
	t.Helper()
	s.post(t, "/v2/repository/models/"+model+"/unload", "")
	within(t, patience, model+" is unloaded", func() bool {
		return strings.HasPrefix(s.indexState(t, model), "UNAVAILABLE")
	})
}

// logged returns how often a text occurs in the log lines of the module.
func (s *llmapiServer) logged(t *testing.T, text string) int {
	t.Helper()
	log, err := os.ReadFile(s.output)
	require.NoError(t, err)
	count := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "[trtllm_metrics]") && strings.Contains(line, text) {
			count++
		}
	}
	return count
}

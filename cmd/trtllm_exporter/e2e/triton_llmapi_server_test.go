//go:build e2e_triton && linux

package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// llmapiServer is a Triton whose models have the interface of the LLM-API
// backend's over an engine that writes down what it does.
type llmapiServer struct {
	*tritonServer
	repository string
}

// settings are what a test changes in model.yaml.
type settings map[string]string

// newLLMAPI prepares a server of the model tensorrt_llm. With the metrics
// module its files are put around the stock file as their README says;
// without, the stock file is the model.
func newLLMAPI(t *testing.T, r release, module bool, changed settings) *llmapiServer {
	t.Helper()
	s := &llmapiServer{tritonServer: newTriton(t, r), repository: t.TempDir()}
	s.models = s.repository
	s.addModel(t, "tensorrt_llm", 1, module, changed)
	return s
}

// addModel lays out a model with a number of instances.
func (s *llmapiServer) addModel(t *testing.T, name string, instances int, module bool, changed settings) {
	t.Helper()
	root := repositoryRoot(t)
	folder := filepath.Join(s.repository, name, "1")
	require.NoError(t, os.CopyFS(filepath.Dir(folder), os.DirFS(filepath.Join(root, "tools/triton/llmapi/tensorrt_llm"))))
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
	edit(t, filepath.Join(folder, "../config.pbtxt"), map[string]string{`name: "tensorrt_llm"`: fmt.Sprintf("name: %q", name), `count: \d+`: fmt.Sprintf("count: %d", instances)})
	lines := map[string]string{`(?m)^truth: .*$`: "truth: " + s.truthFile(name)}
	for key, value := range changed {
		lines["(?m)^"+key+": .*$"] = key + ": " + value
	}
	edit(t, filepath.Join(folder, "model.yaml"), lines)
}

// addVersion makes the model as it is a second version, and has both served.
func (s *llmapiServer) addVersion(t *testing.T) {
	t.Helper()
	model := filepath.Join(s.repository, "tensorrt_llm")
	require.NoError(t, os.CopyFS(filepath.Join(model, "2"), os.DirFS(filepath.Join(model, "1"))))
	edit(t, filepath.Join(model, "config.pbtxt"), map[string]string{`backend: "python"`: "backend: \"python\"\nversion_policy: { all { } }"})
}

// copyFile copies a file into a folder.
func copyFile(t *testing.T, file, folder string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(folder, filepath.Base(file)), text, 0o644))
}

// edit replaces what expressions find in a file, each of which must find
// something.
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

// truthFile returns where the engine of a model writes its iterations.
func (s *llmapiServer) truthFile(model string) string {
	return filepath.Join(s.repository, model+".truth")
}

// start starts the server with tensorrt_llm loaded.
func (s *llmapiServer) start(t *testing.T) {
	t.Helper()
	s.launch(t, "--model-control-mode=explicit", "--load-model=tensorrt_llm")
	within(t, time.Minute, "Triton is ready", func() bool {
		s.relaunch(t)
		return s.status(t, "/v2/health/ready") == 200 && s.answers(t)
	})
}

// load and unload ask for a model, and wait until the index says so.
func (s *llmapiServer) load(t *testing.T, model string) {
	t.Helper()
	s.post(t, "/v2/repository/models/"+model+"/load")
	require.Equal(t, "READY", s.index(t)[model])
}

func (s *llmapiServer) unload(t *testing.T, model string) {
	t.Helper()
	s.post(t, "/v2/repository/models/"+model+"/unload")
	within(t, 30*time.Second, model+" is unloaded", func() bool {
		return strings.HasPrefix(s.index(t)[model], "UNAVAILABLE")
	})
}

// said returns how often the module's part of Triton's log has a text.
func (s *llmapiServer) said(t *testing.T, text string) int {
	t.Helper()
	log, err := os.ReadFile(s.output)
	require.NoError(t, err)
	said := 0
	for line := range strings.Lines(string(log)) {
		if strings.Contains(line, "[trtllm_metrics]") && strings.Contains(line, text) {
			said++
		}
	}
	return said
}

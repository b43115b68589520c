package derive

import "github.com/trtllm-exporter/trtllm_exporter/collector/engine"

const (
	AnswersHealth     engine.Signal = "answers_health"
	AnswersLive       engine.Signal = "answers_live"
	AnswersIndex      engine.Signal = "answers_index"
	AnswersConfig     engine.Signal = "answers_config"
	AnswersModels     engine.Signal = "answers_models"
	AnswersStream     engine.Signal = "answers_stream"
	AnswersIterations engine.Signal = "answers_iterations"
)

func answers(e engine.Engine) []engine.Signal {
	return map[engine.Kind][]engine.Signal{
		engine.Triton:       {AnswersHealth, AnswersLive, AnswersIndex, AnswersConfig, AnswersModels, AnswersStream},
		engine.TritonOpenAI: {AnswersHealth, AnswersModels, AnswersStream},
		engine.TRTLLMServe:  {AnswersHealth, AnswersLive, AnswersModels, AnswersStream, AnswersIterations},
		engine.NIM:          {AnswersHealth, AnswersLive, AnswersModels, AnswersStream},
		engine.Dynamo:       {AnswersHealth, AnswersLive, AnswersModels, AnswersStream},
	}[e.Kind()]
}

package simulate

import (
	"net/http"
	"time"
)

// Kind names a server the simulator can be.
type Kind string

// kinds are the servers there are. Everything about one is in the files that
// begin with its name; here is its entry and no more.
func kinds() map[Kind]software {
	return map[Kind]software{
		KindTriton:                   repository("tensorrtllm").software(),
		KindTritonPython:             repository("python").software(),
		KindTritonLLMAPI:             llmapiFlavour().software(),
		KindTritonLLMAPIModule:       moduleFlavour().software(),
		KindTritonCore:               tritonCore(),
		KindTritonVLLM:               vllmFlavour().software(),
		KindTritonOpenAI:             repository("tensorrtllm").behindOpenAI(),
		KindTritonOpenAIVLLM:         vllmFlavour().behindOpenAI(),
		KindTritonOpenAILLMAPI:       llmapiFlavour().behindOpenAI(),
		KindTritonOpenAILLMAPIModule: moduleFlavour().behindOpenAI(),
		KindServe:                    serveNewest(),
		KindServeGen2:                serveFirstPrefixed(),
		KindServeOld:                 serveOld(),
		KindNIM:                      nimSoftware(),
		KindDynamo:                   dynamoSoftware(),
		KindVLLM:                     vllmServerSoftware(),
		KindSGLang:                   sglangSoftware(),
	}
}

// software is what a kind of server answers about itself.
type software struct {
	// path is where its metrics page is; onePort says that the page is on the
	// port of the API.
	path    string
	onePort bool
	// engineVersion, trtllmVersion and model are those of a spec that names none.
	engineVersion, trtllmVersion, model string
	// complete fills in what else a spec leaves open and says what is wrong with it;
	// nil for nothing.
	complete func(s *Spec) error
	// start makes a new process.
	start func(w *world) server
	// abortsAbandoned says that a request ends when its client leaves; others go
	// on to the last token.
	abortsAbandoned bool
	// roleFirst says that a chat stream sends its role frame before the first
	// token is there, not with it.
	roleFirst bool
	// endsFailed says that a chat stream that fails ends with the error in an event
	// and [DONE]; others just end.
	endsFailed bool
}

// server is a running process: what it books, prints and answers.
type server interface {
	observer
	// The method stuck hears of a request that got all its tokens and never its end.
	stuck(r *request)
	// The method admit books a request that comes in, as the real server does, and
	// says whether it may go to the executor.
	admit(r *request) bool
	// The method next is the moment of the server's next own work, tick does it.
	next() time.Duration
	tick()
	// The method control begins to load or unload a model.
	control(model string, load bool)
	// The method page renders the metrics page of this moment.
	page() []byte
	// The method handlers answers the ports: the API's, then that of the page where
	// it has its own.
	handlers(r *Replica) []http.Handler
}

// plain is the part of servers that take every request, book none that never ends,
// have no work of their own between requests and no models to load.
type plain struct{ w *world }

func (p plain) admit(*request) bool { return !p.w.failing }
func (plain) stuck(*request)        {}
func (plain) next() time.Duration   { return never }
func (plain) tick()                 {}
func (plain) control(string, bool)  {}

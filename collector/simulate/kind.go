package simulate

import (
	"maps"
	"net/http"
	"slices"
	"time"
)

// Kind is a kind of server.
type Kind string

// Kinds returns all kinds of servers, sorted. The name of each begins with the kind that the exporter
// recognises.
func Kinds() []Kind { return slices.Sorted(maps.Keys(kinds())) }

// Product returns the name and release of a server that needs no code of its own, empty for others.
func (k Kind) Product() string { return kinds()[k].product }

// kinds returns all kinds of servers. Each is in the files that begin with its name.
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
		KindNIM:                      nim(),
		KindServeDisaggregated:       serveDisaggregated(),
		KindDynamo:                   dynamoSoftware(dynamoTRTLLM),
		KindDynamoVLLM:               dynamoSoftware(dynamoVLLM),
		KindDynamoSGLang:             dynamoSoftware(dynamoSGLang),
		KindDynamoTriton:             dynamoSoftware(dynamoTriton),
		KindDynamoFrontend:           dynamoFrontend(),
		KindVLLM:                     vllmServerSoftware(),
		KindSGLang:                   sglangSoftware(),
	}
}

// software describes a kind of server.
type software struct {
	// path is the path of the metrics page; onePort is true if it is on the API port.
	path    string
	onePort bool
	// product is its name with the release, if it is [simple].
	product string
	// engineVersion, trtllmVersion and model are defaults for the spec.
	engineVersion, trtllmVersion, model string
	// dialects returns the releases that write other pages than the one before; it is nil if there is one page.
	dialects func() []Dialect
	// complete sets other defaults of a spec and validates it; it may be nil.
	complete func(s *Spec) error
	// start returns a new process.
	start func(w *world) server
	// abortsAbandoned is true if a request ends when its client leaves.
	abortsAbandoned bool
	// roleFirst is true if a chat stream sends its role before the first token.
	roleFirst bool
	// endsFailed is true if a failed chat stream ends with an error event and [DONE].
	endsFailed bool
}

// server is a running process.
type server interface {
	observer
	stuck(r *request) // It has all its tokens but never ends.
	// The method admit counts a new request and reports whether it enters the executor.
	admit(r *request) bool
	// The method next returns when tick is due.
	next() time.Duration
	tick()
	// The method control starts loading or unloading a model.
	control(model string, load bool)
	page() []byte
	// The method total counts what has happened all at once.
	total(t *Totals)
	// The method handlers returns those of the API port and of a metrics port.
	handlers(r *Replica) []http.Handler
}

// plain is what servers share that admit every request and load no models.
type plain struct{ w *world }

func (p plain) admit(*request) bool { return !p.w.failing }
func (plain) stuck(*request)        {}
func (plain) next() time.Duration   { return never }
func (plain) tick()                 {}
func (plain) control(string, bool)  {}

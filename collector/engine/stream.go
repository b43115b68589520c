package engine

// Stream is how a kind of server streams answers to its clients.
type Stream struct {
	// Generate is true for Triton's generate_stream, false for OpenAI's API.
	Generate bool
	// Usage and Seed say that requests to OpenAI's API may have stream_options
	// and seed. trtllm-serve refuses keys that it does not know
	// (openai_protocol.py, extra="forbid"), and knows both; NIM 1.x is built on
	// a vLLM that did the same before it knew stream_options.
	Usage, Seed bool
}

package engine

// HasIterations says whether servers of a kind have iteration statistics.
func HasIterations(kind string) bool { return Kind(kind) == TRTLLMServe }

// HasGRPC says whether servers of a kind have a gRPC API.
func HasGRPC(kind string) bool { return Kind(kind) == Triton }

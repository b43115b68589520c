package engine

import (
	"context"
	"net/http"
)

// Probe asks an unknown server which paths of its API answer, and who owns the models that it lists. It finds
// nothing at a server that answers every path alike.
func Probe(ctx context.Context, client Client, address string) (paths DeclaredPaths, owner string) {
	answers := func(path string) bool {
		status, _, _, err := client.Do(ctx, http.MethodGet, address+path, nil, answerLimit)
		return err == nil && status == http.StatusOK
	}
	if answers("/a/path/that/no/server/has") {
		return paths, ""
	}
	for _, path := range []string{"/health", "/healthz", "/v1/health/ready", "/v2/health/ready", "/ping"} {
		if answers(path) {
			paths.Health = path
			break
		}
	}
	q := &questions{client: client, base: address}
	if list, ok := q.models(ctx); ok {
		paths.Models, owner = usualModels, plainText(list.owner())
	}
	if q.version(ctx) != "" {
		paths.Version = versionPath
	}
	return paths, owner
}

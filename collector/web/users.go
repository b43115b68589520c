package web

import (
	"net/http"
	"os"

	"gopkg.in/yaml.v3"
)

// hasUsers reports whether a web configuration names users; the toolkit validates the rest.
func hasUsers(file string) (bool, error) {
	if file == "" {
		return false, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var config struct {
		Users map[string]any `yaml:"basic_auth_users"`
	}
	err = yaml.Unmarshal(text, &config)
	return len(config.Users) > 0, err
}

// requireUsers refuses requests while the file names no users, if it did at the start. The
// toolkit reads the file for each request, and without users, such as while the file is being
// written, it would serve everybody.
func (s *Server) requireUsers(handler http.Handler) http.Handler {
	if !s.authenticated {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if some, err := hasUsers(s.opts.WebConfigFile); err != nil || !some {
			http.Error(w, "The file of --web.config.file names no users any more; restart the exporter to serve everybody", http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

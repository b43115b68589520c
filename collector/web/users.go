package web

import (
	"net/http"
	"os"

	"gopkg.in/yaml.v3"
)

// readUsers reports whether a web configuration names users; the toolkit judges the
// rest of it. No file names none.
func readUsers(file string) (some bool, err error) {
	if file == "" {
		return false, nil
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return false, err
	}
	var said struct {
		Users map[string]any `yaml:"basic_auth_users"`
	}
	if err := yaml.Unmarshal(text, &said); err != nil {
		return false, err
	}
	return len(said.Users) > 0, nil
}

// shut keeps a handler shut that had users at the start. The toolkit reads them for each
// request, and serves everybody where the file has none, as while it is written.
func (s *Server) shut(handler http.Handler) http.Handler {
	if !s.users {
		return handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if some, err := readUsers(s.opts.WebConfigFile); err != nil || !some {
			http.Error(w, "The file of --web.config.file names no users any more; start the exporter again to serve everybody", http.StatusInternalServerError)
			return
		}
		handler.ServeHTTP(w, r)
	})
}

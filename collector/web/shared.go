package web

import (
	"bytes"
	"cmp"
	"maps"
	"net/http"
)

// shared builds a page once for all clients that request it at the same address and time. However many they
// are, they cost others no more time than one of them.
func (s *Server) shared(serve func(http.ResponseWriter, *http.Request)) func(http.ResponseWriter, *http.Request) {
	return func(w http.ResponseWriter, r *http.Request) {
		key := s.baseURL(r) + r.URL.RequestURI() + " " + r.Header.Get("Accept")
		answer, _, _ := s.building.Do(key, func() (any, error) {
			page := &built{header: make(http.Header)}
			serve(page, r)
			return page, nil
		})
		page := answer.(*built) // Nothing else is built.
		maps.Copy(w.Header(), page.header)
		w.WriteHeader(cmp.Or(page.status, http.StatusOK))
		_, _ = w.Write(page.body.Bytes())
	}
}

// built is an answer that several clients get. It does not change once it is built.
type built struct {
	header http.Header
	status int
	body   bytes.Buffer
}

func (b *built) Header() http.Header { return b.header }

func (b *built) WriteHeader(status int) { b.status = cmp.Or(b.status, status) }

func (b *built) Write(p []byte) (int, error) { return b.body.Write(p) }

// reload reloads the configuration once for all that ask for it before it begins.
func (s *Server) reload() error {
	_, err, _ := s.building.Do("reload", func() (any, error) {
		s.reloading <- struct{}{}
		defer func() { <-s.reloading }()
		s.building.Forget("reload") // Who comes from now on may have changed a file again.
		return nil, s.opts.Reload()
	})
	return err
}

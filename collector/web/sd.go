package web

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// group is one entry of Prometheus' HTTP service discovery.
type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// serveDiscovery lists a target for each replica, and one for the exporter
// itself, for a Prometheus that is to scrape each on its own: up is then per
// replica, and no page is large. The identity is in __meta labels, for series
// carry pool_id and replica_id already.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	scheme, host, _ := strings.Cut(s.baseFor(r), "://")
	groups := []group{{Targets: []string{host}, Labels: pageLabels(scheme, selfTarget, host)}}
	for _, slot := range s.opts.Store.Slots() {
		t := slot.Target()
		labels := pageLabels(scheme, t.Key(), t.Key())
		labels["__meta_trtllm_exporter_pool_id"] = t.PoolID
		labels["__meta_trtllm_exporter_replica_id"] = t.ReplicaID
		if engine := slot.Status().DetectedEngine; engine != "" {
			labels["__meta_trtllm_exporter_engine"] = engine
		}
		groups = append(groups, group{Targets: []string{host}, Labels: labels})
	}
	writeJSON(w, groups)
}

// hostFor is where Prometheus reaches this process: the address at which the
// request came. The Host header is whatever the client wrote; it is taken when it
// is a name that the process was given to listen on, or that the client has had
// confirmed by our certificate.
func (s *Server) hostFor(r *http.Request) string {
	if r.TLS != nil && r.TLS.ServerName != "" && strings.EqualFold(hostname(r.Host), r.TLS.ServerName) || slices.Contains(s.opts.ListenAddresses, r.Host) {
		return r.Host
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return local.String()
	}
	return s.Addr()
}

// baseFor is the address of the pages of this process, as of [Server.hostFor].
func (s *Server) baseFor(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + s.hostFor(r)
	}
	return "http://" + s.hostFor(r)
}

// hostname is a host without its port.
func hostname(hostport string) string {
	if host, _, err := net.SplitHostPort(hostport); err == nil {
		return host
	}
	return hostport
}

// pageLabels lead Prometheus to one page.
func pageLabels(scheme, key, instance string) map[string]string {
	return map[string]string{
		"__scheme__":       scheme,
		"__metrics_path__": "/metrics",
		"__param_target":   key,
		"instance":         instance,
	}
}

// writeJSON answers with v, indented for people who look at it. The length is that by
// which slow readers are cut.
func writeJSON(w http.ResponseWriter, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		http.Error(w, "The answer could not be encoded", http.StatusInternalServerError)
		return
	}
	body = append(body, '\n')
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(body)
}

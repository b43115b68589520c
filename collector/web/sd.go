package web

import (
	"encoding/json"
	"net"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

type group struct {
	Targets []string          `json:"targets"`
	Labels  map[string]string `json:"labels"`
}

// serveDiscovery lists a target for each replica and one for the exporter itself, so that a
// Prometheus can scrape each on its own: up is then per replica, and no page is large. The
// identity is in __meta labels because the series have pool_id and replica_id already.
func (s *Server) serveDiscovery(w http.ResponseWriter, r *http.Request) {
	scheme, host, _ := strings.Cut(s.baseURL(r), "://")
	groups := []group{{Targets: []string{host}, Labels: targetLabels(scheme, selfTarget, host)}}
	for _, slot := range s.opts.Store.Slots() {
		t := slot.Target()
		labels := targetLabels(scheme, t.Key(), t.Key())
		labels["__meta_trtllm_exporter_pool_id"] = t.PoolID
		labels["__meta_trtllm_exporter_replica_id"] = t.ReplicaID
		if engine := slot.Status().DetectedEngine; engine != "" {
			labels["__meta_trtllm_exporter_engine"] = engine
		}
		groups = append(groups, group{Targets: []string{host}, Labels: labels})
	}
	writeJSON(w, groups)
}

func (s *Server) baseURL(r *http.Request) string {
	if r.TLS != nil {
		return "https://" + s.host(r)
	}
	return "http://" + s.host(r)
}

// host returns the address at which the request arrived. The Host header, which clients choose,
// is used only if it is an address to listen on, or a name of our certificate that the client
// asked for.
func (s *Server) host(r *http.Request) string {
	name, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		name = r.Host
	}
	if r.TLS != nil && r.TLS.ServerName != "" && strings.EqualFold(name, r.TLS.ServerName) || slices.Contains(s.opts.ListenAddresses, r.Host) {
		return r.Host
	}
	if local, ok := r.Context().Value(http.LocalAddrContextKey).(net.Addr); ok {
		return local.String()
	}
	return s.Addr()
}

func targetLabels(scheme, key, instance string) map[string]string {
	return map[string]string{
		"__scheme__":       scheme,
		"__metrics_path__": "/metrics",
		"__param_target":   key,
		"instance":         instance,
	}
}

// writeJSON answers with v, indented for people. The gate needs the length to limit slow
// readers.
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

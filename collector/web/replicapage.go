package web

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
	"github.com/trtllm-exporter/trtllm_exporter/collector/assess"
	"github.com/trtllm-exporter/trtllm_exporter/collector/target"
)

// Detail is the JSON document of /replica?target=POOL/REPLICA&format=json.
type Detail struct {
	Replica

	// Scraped describes the scrapes of the replica. Page is the URL of its metrics page.
	Scraped string   `json:"scraped"`
	Page    string   `json:"page"`
	Labels  []Origin `json:"labels"`
	// Changes lists the newest first. Failure is nil if no scrape failed.
	Changes []Change `json:"changes,omitempty"`
	Failure *Failure `json:"last_failure,omitempty"`
	Lists   []Checks `json:"lists,omitempty"`
	// Steps lists the first checks of the runbook, with the names of this replica filled in.
	Steps    []string  `json:"first_checks,omitempty"`
	Commands []Command `json:"commands,omitempty"`
}

// Origin is a label of a replica's series, and where its value comes from.
type Origin struct {
	Name  string `json:"name"`
	Value string `json:"value"`
	From  string `json:"from"`
}

// Change is a state of the replica as it is shown.
type Change struct {
	Time     string `json:"at"`
	Lasted   string `json:"lasted"`
	Word     string `json:"word"`
	Severity string `json:"-"`
	Reason   string `json:"reason,omitempty"`
}

// Failure is a failed scrape.
type Failure struct {
	Time   string `json:"at"`
	Reason string `json:"reason,omitempty"`
	Text   string `json:"text"`
	// Over is true if scrapes have succeeded since.
	Over bool `json:"over"`
}

// Checks is a list of failed checks.
type Checks struct {
	// Title says what a failed check means, Others how many checks passed.
	Title  string         `json:"title"`
	Others string         `json:"others,omitempty"`
	NotOK  []target.Check `json:"checks"`
}

// Command is a command line that repeats what the exporter does.
type Command struct {
	What string `json:"what"`
	Line string `json:"line"`
}

type replicaView struct {
	frame
	Detail

	Row     *replica
	Grafana string
	Refresh int
}

// serveReplica shows one replica as HTML or JSON. It reads the whole fleet, since a replica is
// compared with the others of its pool.
func (s *Server) serveReplica(w http.ResponseWriter, r *http.Request) {
	key, now := r.URL.Query().Get("target"), time.Now()
	all, _ := s.readFleet(now)
	i := slices.IndexFunc(all, func(o *replica) bool { return o.Key() == key })
	w.Header().Set("Vary", "Accept")
	switch {
	case i < 0 && strings.Contains(r.Header.Get("Accept"), "text/html"):
		pool, _, _ := strings.Cut(key, "/")
		s.render(w, http.StatusNotFound, "gone.html", &refusal{
			frame: s.frame("No replica is named "+key, now),
			Text:  "Discovery no longer finds it, or a rollout changed its name.",
			Pool:  pool,
		})
		return
	case i < 0:
		http.Error(w, fmt.Sprintf("No replica is named %q; / lists them", key), http.StatusNotFound)
		return
	}
	v := s.replicaView(all[i], s.baseURL(r), now)
	if wantsJSON(r) {
		writeJSON(w, &v.Detail)
		return
	}
	s.render(w, http.StatusOK, "replica.html", v)
}

func (s *Server) replicaView(r *replica, base string, now time.Time) *replicaView {
	r.Reason = sentence(r.Status.StateReason)
	recent := drawSparks([]*replica{r}, s.history)[0]
	v := &replicaView{
		frame:   s.frame(r.Key()+" – trtllm_exporter", now),
		Row:     r,
		Grafana: s.opts.Grafana,
		Refresh: int(sampleInterval.Seconds()),
	}
	v.Tone = r.Severity
	v.Detail = Detail{
		Replica: r.Replica, Scraped: v.scraped(), Page: target.Public(r.Status.PageURL),
		Labels: origins(r), Changes: changes(recent.changes, now), Failure: v.lastFailure(&recent.failure),
		Lists: s.unmet(r), Steps: r.steps(base), Commands: s.commands(r),
	}
	return v
}

func changes(past []target.Assessment, now time.Time) []Change {
	all := make([]Change, 0, len(past))
	end := now
	for _, v := range slices.Backward(past) {
		all = append(all, Change{
			Time: v.StateSince.UTC().
				Format("2006-01-02 15:04:05 UTC"),
			Lasted: age(end.Sub(v.StateSince)), Word: wordFor(&v), Severity: severityOf(&v),
			Reason: sentence(target.Scrub(v.StateReason)),
		})
		end = v.StateSince
	}
	return all
}

func (v *replicaView) lastFailure(last *failedScrape) *Failure {
	if s := &v.Row.Status; s.LastError != "" {
		return &Failure{Time: v.Ago(s.LastScrape), Reason: s.LastReason, Text: s.LastError}
	}
	if last.text != "" {
		return &Failure{Time: v.Ago(last.time), Reason: last.reason, Text: target.Scrub(last.text), Over: true}
	}
	return nil
}

// unmet returns the failed checks, the series that are left out, and metadata that differs.
func (s *Server) unmet(r *replica) []Checks {
	titles := map[string][3]string{
		assess.Expected:     {"Not as its pool expects", "other is as expected", "others are as expected"},
		assess.Capabilities: {"What the server does not expose", "other is exposed", "others are exposed"},
		assess.Determinism: {
			"Why identical requests may get different answers", "other condition is met",
			"other conditions are met",
		},
		assess.Unanswered: {"Questions that the server did not answer", "", ""},
	}
	var all []Checks
	for _, list := range r.Status.Checks {
		title := titles[list.Name]
		c := Checks{
			Title: cmp.Or(title[0], list.Name),
			NotOK: slices.DeleteFunc(slices.Clone(list.Checks), func(c target.Check) bool { return c.OK }),
		}
		if met := len(list.Checks) - len(c.NotOK); met > 0 {
			c.Others = plural(met, title[1], title[2])
		}
		all = append(all, c)
	}
	all = append(all,
		Checks{
			Title: "Left out of /metrics",
			NotOK: mapped(
				r.Status.LeftOut,
				func(text string) target.Check { return target.Failed("series", text, "") },
			),
		},
		Checks{
			Title: "Families that other targets describe differently",
			NotOK: mapped(
				s.pages.differencesOf(r.Key()),
				func(d difference) target.Check { return target.Failed(d.Family, d.In+": "+d.Value, "") },
			),
		},
	)
	return slices.DeleteFunc(all, func(c Checks) bool { return len(c.NotOK) == 0 })
}

// kubectlExec and kubectl match commands that need a pod.
var (
	kubectlExec = regexp.MustCompile("`kubectl exec REPLICA_ID -- ([^`]*)`")
	kubectl     = regexp.MustCompile("(?: \\(|[:,]? )`kubectl [^`]*`\\)?(?:,? or)?")
)

// ownPage is the address of a replica's page in the runbook.
const ownPage = "http://EXPORTER:9802/replica?target=POOL_ID/REPLICA_ID"

// steps returns the first checks of the runbook, with the names of this replica filled in.
func (r *replica) steps(base string) []string {
	entry := alerts.EntryOf(r.Status.Runbook)
	if entry == nil {
		return nil
	}
	names := strings.NewReplacer(mapped([]string{
		"http://EXPORTER:9802", base, "POOL_ID", r.PoolID, "REPLICA_ID", r.ReplicaID,
		"REPLICA_PAGE",
		target.Public(cmp.Or(r.Status.PageURL, r.Target.MetricsURL)),
		"REPLICA_API", target.Public(cmp.Or(r.Status.APIURL, r.Target.APIURL, "REPLICA_API")),
		"MODEL", r.someModel(),
	}, harmless)...)
	return mapped(entry.Checks, func(check string) string {
		check = strings.ReplaceAll(check, "`"+ownPage+"`", "this page")
		if !r.Target.Pod {
			check = kubectl.ReplaceAllString(kubectlExec.ReplaceAllString(check, "`$1`"), "")
			check = strings.NewReplacer("?.", "?", "?;", "?").Replace(check)
		}
		return names.Replace(check)
	})
}

// someModel returns a model that clients can ask for, or the word that stands for one.
func (r *replica) someModel() string {
	for _, m := range r.Status.Models {
		if m.ModelID != "" {
			return m.ModelID
		}
	}
	return "MODEL"
}

func (v *replicaView) PoolLink() string { return "./" + filter{Pool: v.PoolID}.link() }

func (v *replicaView) scraped() string {
	t, s := v.Row.Target, &v.Row.Status
	if s.LastScrape.IsZero() {
		if t.Silent {
			return "never: it binds no port"
		}
		return "not yet"
	}
	texts := []string{v.Ago(s.LastScrape), "took " + v.Row.ScrapeTime(), "every " + t.Interval.String()}
	if s.Failures > 0 {
		texts = append(texts, grouped(float64(s.Failures))+" of "+grouped(float64(s.Scrapes))+" failed")
	} else {
		texts = append(texts, plural(int(s.Scrapes), "scrape", "scrapes")+", none failed")
	}
	return strings.Join(texts, ", ")
}

// origins returns the labels that the exporter adds.
func origins(r *replica) []Origin {
	all := []Origin{
		{"pool_id", r.PoolID, "pool_id of the pool in the configuration, or label pool_id of the target"},
		{"replica_id", r.ReplicaID, "label replica_id of the target, or the name of its pod"},
		engineOrigin(r),
		versionOrigin(r),
		libraryOrigin(r),
	}
	if u, err := url.Parse(r.Target.MetricsURL); err == nil && u.Host == r.ReplicaID {
		all[1].From = "address of the target, as it has no other name: set label replica_id"
	}
	var models []string
	for _, m := range r.Status.Models {
		if !slices.Contains(models, m.ModelID) {
			models = append(models, m.ModelID)
		}
	}
	if len(models) > 0 {
		all = append(all, Origin{
			"model_id", strings.Join(models, ", "), "models of the server, or model_ids of the pool",
		})
	}
	for _, name := range slices.Sorted(maps.Keys(r.Target.Labels)) {
		all = append(all, Origin{name, r.Target.Labels[name], "label of the target, from discovery or relabel_configs"})
	}
	return all
}

func engineOrigin(r *replica) Origin {
	detected := ifKnown(r.Status.DetectedEngine)
	switch {
	case r.Target.Auto() && detected == "":
		return Origin{"engine", unknown, "the server has not been recognised yet"}
	case r.Target.Auto():
		return Origin{"engine", detected, "recognised by the server's page and API"}
	case detected != "" && detected != r.Target.Engine:
		return Origin{
			"engine", r.Target.Engine,
			"engine of the pool, or label engine of the target; its page is that of " + detected,
		}
	}
	return Origin{"engine", r.Target.Engine, "engine of the pool, or label engine of the target"}
}

func versionOrigin(r *replica) Origin {
	switch {
	case r.Target.EngineVersion != "":
		return Origin{"engine_version", r.Target.EngineVersion, "engine_version of the pool, or label of the target"}
	case ifKnown(r.Status.EngineVersion) == "":
		return Origin{"engine_version", unknown, "the server's API does not report it: set engine_version"}
	}
	return Origin{"engine_version", r.Status.EngineVersion, "answer of the server's API"}
}

func libraryOrigin(r *replica) Origin {
	if ifKnown(r.Status.TRTLLMVersion) == "" {
		return Origin{"trtllm_version", unknown, "no source reports it: set trtllm_version"}
	}
	return Origin{"trtllm_version", r.Status.TRTLLMVersion, map[string]string{
		"config":              "trtllm_version of the pool, or label of the target",
		"version_endpoint":    "answer of the server's API",
		"model_parameter":     "parameter of a model's configuration",
		"metrics_page":        "its own page",
		"compatibility_table": "the release of Triton, by the compatibility table of the exporter",
	}[r.Status.VersionSource]}
}

// commands returns commands that repeat the scrape, without secrets.
func (s *Server) commands(r *replica) []Command {
	if r.Target.Silent {
		return nil
	}
	raw := cmp.Or(r.Status.PageURL, r.Target.MetricsURL)
	page := target.Public(raw)
	description := "The same page"
	if page != raw {
		description += " (without the user or the query that the configuration adds)"
	}
	doctor := []string{"trtllm_exporter doctor"}
	if s.opts.ConfigFile != "" {
		doctor = append(doctor, "--config.file", quoted(s.opts.ConfigFile), "--pool-id", quoted(r.PoolID))
	}
	if api, err := url.Parse(cmp.Or(r.Status.APIURL, r.Target.APIURL)); err == nil && api.Port() != "" {
		doctor = append(doctor, "--api-port", api.Port())
		if api.Path != "" {
			doctor = append(doctor, "--api-path", quoted(api.Path))
		}
	}
	return []Command{
		{
			description,
			"curl -sS --max-time " + strconv.FormatFloat(r.Target.Timeout.Seconds(), 'f', -1, 64) + " " + quoted(page),
		},
		{
			"What the server exposes, and which flags make it expose more",
			strings.Join(append(doctor, quoted(page)), " "),
		},
	}
}

func quoted(word string) string {
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

// plain matches words that have no special meaning to a shell.
var plain = regexp.MustCompile(`^[\w.:/@-]*$`)

// harmless URL-escapes a word that has a special meaning to a shell.
func harmless(word string) string {
	if plain.MatchString(word) {
		return word
	}
	return url.QueryEscape(word)
}

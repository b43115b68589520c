package web

import (
	"html/template"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/trtllm-exporter/trtllm_exporter/alerts"
)

// chapter is a part of the runbook.
type chapter struct {
	Title   string
	Entries []alerts.Entry
}

func (s *Server) serveRunbook(w http.ResponseWriter, r *http.Request) {
	// In commands, the address of this exporter is filled in; names of replicas are not known here.
	exporter := strings.NewReplacer("http://EXPORTER:9802", s.baseURL(r))
	var all []chapter
	for _, e := range alerts.Runbook() {
		if len(all) == 0 || all[len(all)-1].Title != e.Chapter {
			all = append(all, chapter{Title: e.Chapter})
		}
		e.Checks = mapped(e.Checks, exporter.Replace)
		last := &all[len(all)-1]
		last.Entries = append(last.Entries, e)
	}
	s.render(w, http.StatusOK, "runbook.html", &struct {
		frame
		Chapters []chapter
	}{s.frame("Runbook – trtllm_exporter", time.Now()), all})
}

// spans matches code, emphasis and links in a line of Markdown. Links are dropped, since their
// files are not served.
var spans = regexp.MustCompile("`([^`]*)`|\\*\\*?([^*]+)\\*\\*?|\\[([^\\]]*)\\]\\([^)]*\\)")

// command matches code that is run in a shell, address code that leads to a page, unless words in it
// stand for names.
var (
	command = regexp.MustCompile(
		`^(curl|dmesg|grep|journalctl|kubectl|nvidia-smi|py-spy|ss|systemctl|trtllm_exporter) `)
	address = regexp.MustCompile(`^https?://[^A-Z ]+$`)
)

// markdown renders a line of the runbook. Names of alerts are links to their sections, commands can be
// copied.
func markdown(text string) template.HTML {
	out := spans.ReplaceAllStringFunc(template.HTMLEscapeString(text), func(span string) string {
		m := spans.FindStringSubmatch(span)
		switch {
		case alerts.EntryOf(m[1]) != nil:
			return `<a href="runbook#` + strings.ToLower(m[1]) + `"><code>` + m[1] + `</code></a>`
		case address.MatchString(m[1]):
			return `<a href="` + m[1] + `"><code>` + m[1] + `</code></a>`
		case command.MatchString(m[1]):
			return `<code class="command">` + m[1] + `</code>` + copyButton
		case m[1] != "":
			return "<code>" + m[1] + "</code>"
		}
		return "<em>" + m[2] + m[3] + "</em>"
	})
	return template.HTML(out) //nolint:gosec // Everything but the tags above is escaped.
}

// copyButton copies the command before it. It shows only where copy.js runs.
const copyButton = ` <button class="copy" type="button" aria-label="Copy the command">copy</button>`

// copyable renders a command that can be copied.
func copyable(line string) template.HTML {
	//nolint:gosec // Everything but the tags is escaped.
	return template.HTML(`<code class="command">` + template.HTMLEscapeString(line) + `</code>` + copyButton)
}

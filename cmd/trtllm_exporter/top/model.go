package top

import (
	"context"
	"errors"
	"slices"
	"time"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"github.com/trtllm-exporter/trtllm_exporter/collector/web"
)

// Options configures the screen.
type Options struct {
	Client *Client
	// Interval is the time between two requests.
	Interval time.Duration
	Choice   Choice
	// Connecting is shown until the first answer; it has a default.
	Connecting string
}

// model is the state of the screen. Only Update changes it.
type model struct {
	opts   Options
	choice Choice
	fleet  *web.Fleet
	// err is the error of the last request, answered the time of the last answer.
	err      error
	answered time.Time
	rows     []web.Replica
	// selected is the key of the replica under the cursor. The cursor follows it when rows move,
	// unless the cursor was never moved from the top.
	selected string
	moved    bool
	offset   int
	// position describes which lines of the table are visible, empty if all are.
	position string
	typing   bool
	// help is true while the keys are explained.
	help   bool
	detail *detailView

	width, height int
}

// Messages of the program: answers, and the time for the next request.
type (
	fleetAnswer struct {
		fleet *web.Fleet
		err   error
	}
	detailAnswer struct {
		key    string
		detail *web.Detail
		err    error
	}
	refresh struct{}
)

// Run shows the fleet until the user quits or ctx is done.
func Run(ctx context.Context, opts Options) error {
	_, err := tea.NewProgram(newModel(opts), tea.WithContext(ctx)).Run()
	if errors.Is(err, tea.ErrProgramKilled) && ctx.Err() != nil {
		err = nil
	}
	return err
}

func newModel(opts Options) *model {
	return &model{opts: opts, choice: opts.Choice, width: 80, height: 24}
}

// Init implements tea.Model: it requests the fleet.
func (m *model) Init() tea.Cmd { return m.requestFleet }

func (m *model) requestFleet() tea.Msg {
	fleet, _, err := m.opts.Client.Fleet(context.Background())
	return fleetAnswer{fleet, err}
}

func (m *model) requestDetail(key string) tea.Cmd {
	return func() tea.Msg {
		detail, err := m.opts.Client.Detail(context.Background(), key)
		return detailAnswer{key, detail, err}
	}
}

// Update implements tea.Model. After a failed request the last answer stays on the screen.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
	case fleetAnswer:
		if m.err = msg.err; msg.err == nil {
			m.fleet, m.answered = msg.fleet, time.Now()
			m.arrange()
		}
		return m, tea.Tick(m.opts.Interval, func(time.Time) tea.Msg { return refresh{} })
	case detailAnswer:
		if m.detail != nil && m.detail.key == msg.key {
			if m.detail.err = msg.err; msg.err == nil {
				m.detail.detail = msg.detail
			}
		}
	case refresh:
		if m.detail != nil {
			return m, tea.Batch(m.requestFleet, m.requestDetail(m.detail.key))
		}
		return m, m.requestFleet
	case tea.PasteMsg:
		if m.typing {
			m.filter(m.choice.Text + Plain(msg.Content))
		}
	case tea.KeyPressMsg:
		cmd := m.press(msg)
		return m, cmd
	}
	return m, nil
}

func (m *model) press(k tea.KeyPressMsg) tea.Cmd {
	name := k.String()
	switch {
	case name == "ctrl+c":
		return tea.Quit
	case m.help:
		m.help = false
		return nil
	case m.typing:
		m.edit(name, k.Text)
		return nil
	case m.detail != nil:
		return m.pressInDetail(name)
	}
	return m.pressInTable(name)
}

// pressInTable handles a key in the table of replicas.
func (m *model) pressInTable(name string) tea.Cmd {
	switch name {
	case "esc":
		if m.choice.Text == "" && !m.choice.Wrong {
			return tea.Quit
		}
		m.choice.Wrong = false
		m.filter("")
	case "q":
		return tea.Quit
	case "s", "S":
		m.changeOrder(map[string]int{"s": 1, "S": -1}[name])
	case "e":
		m.choice.Wrong = !m.choice.Wrong
		m.arrange()
	case "/":
		m.typing = true
	case "?":
		m.help = true
	case "enter", "right", "l":
		if m.selected != "" {
			m.detail = &detailView{key: m.selected}
			return m.requestDetail(m.selected)
		}
	default:
		if by := steps(name, max(m.height-8, 1), len(m.rows)); by != 0 {
			m.selectRow(m.cursor() + by)
			m.moved = m.cursor() > 0
		}
	}
	return nil
}

func (m *model) edit(name, text string) {
	switch name {
	case "enter":
		m.typing = false
	case "esc":
		m.typing = false
		m.filter("")
	case "backspace":
		_, size := utf8.DecodeLastRuneInString(m.choice.Text)
		m.filter(m.choice.Text[:len(m.choice.Text)-size])
	default:
		m.filter(m.choice.Text + Plain(text))
	}
}

func (m *model) filter(text string) {
	m.choice.Text = text
	m.arrange()
}

func (m *model) changeOrder(by int) {
	orders := Orders()
	i := max(slices.Index(orders, m.choice.Order), 0)
	m.choice.Order = orders[(i+by+len(orders))%len(orders)]
	m.arrange()
}

// arrange selects and sorts the rows. The cursor stays on its replica, or near its row if the
// replica is no longer shown.
func (m *model) arrange() {
	if m.fleet == nil {
		return
	}
	cursor := m.cursor()
	m.rows = m.choice.apply(m.fleet)
	if !m.moved {
		m.selectRow(0)
	} else if !slices.ContainsFunc(m.rows, func(r web.Replica) bool { return key(&r) == m.selected }) {
		m.selectRow(cursor)
	}
}

func (m *model) cursor() int {
	return max(slices.IndexFunc(m.rows, func(r web.Replica) bool { return key(&r) == m.selected }), 0)
}

func (m *model) selectRow(i int) {
	m.selected = ""
	if len(m.rows) > 0 {
		m.selected = key(&m.rows[min(max(i, 0), len(m.rows)-1)])
	}
}

// steps returns by how many lines a key moves, 0 for other keys.
func steps(name string, page, all int) int {
	return map[string]int{
		"up":     -1,
		"k":      -1,
		"down":   1,
		"j":      1,
		"pgup":   -page,
		"ctrl+b": -page,
		"pgdown": page,
		"ctrl+f": page,
		"space":  page,
		"home":   -all,
		"g":      -all,
		"end":    all,
		"G":      all,
	}[name]
}

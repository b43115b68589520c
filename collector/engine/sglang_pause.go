package engine

import "github.com/prometheus/prometheus/model/labels"

// sglangStops are the routes that stop the server, and those that start it again: it is paused, or its memory
// is taken away, as for training.
//
//nolint:gochecknoglobals // constant data.
var sglangStops = [...][2]string{
	stopPause:  {"/pause_generation", "/continue_generation"},
	stopMemory: {"/release_memory_occupation", "/resume_memory_occupation"},
}

// Indices of [sglangStops].
const stopPause, stopMemory = 0, 1

// sglangPauseSeries adds a series. Answers are counted by route since 0.5.6.post2.
func sglangPauseSeries(s *pauseSeries, m *Meaning, series int, lset labels.Labels) {
	route := ""
	if m.Signal == HTTPAnswers && lset.Get("status_code") == "200" {
		route = lset.Get("endpoint")
	}
	for i, routes := range sglangStops {
		switch route {
		case routes[0]:
			s.stopped[i] = append(s.stopped[i], series)
		case routes[1]:
			s.started[i] = append(s.started[i], series)
		}
	}
	switch m.Signal { //nolint:exhaustive // Others say nothing.
	case RequestsPaused:
		s.held = append(s.held, series)
	case RequestsOpen:
		s.open = append(s.open, series)
	case WeightUpdates:
		s.updates = append(s.updates, series)
	case CallsOpen:
		s.calls = append(s.calls, series)
	case EngineIterations, GenerationTokensLive:
		s.steps = append(s.steps, series)
	}
}

package main

import (
	"encoding/json"
	"fmt"
	"sort"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
)

// An answer is one line of output.
type answer struct {
	ID json.RawMessage `json:"id,omitempty"`
	// The verdict of the case's `pod`, inline.
	*verdict
	// The verdicts of the case's `candidates`, in their order.
	Answers []*verdict `json:"answers,omitempty"`
	// Error says that the case could not be judged at all.
	Error string `json:"error,omitempty"`
}

// A verdict says where one pod may go.
type verdict struct {
	// Feasible nodes, by name.
	Feasible []string `json:"feasible"`
	// Infeasible nodes, each with the first plugin that refused it.
	Infeasible map[string]refusal `json:"infeasible,omitempty"`
	// Errors are nodes that a plugin could not judge: the real cycle ends there for all nodes, and
	// the pod is tried again.
	Errors map[string]refusal `json:"errors,omitempty"`
	// PreFilter is set where a plugin refused all nodes at once.
	PreFilter *refusal `json:"prefilter,omitempty"`
	// PreEnqueue is set where the pod would not enter the queue; nodes are judged nevertheless.
	PreEnqueue *refusal `json:"preenqueue,omitempty"`
}

// A refusal is the framework's status in words.
type refusal struct {
	Plugin  string   `json:"plugin"`
	Code    string   `json:"code"`
	Reasons []string `json:"reasons,omitempty"`
}

func refusalOf(status *fwk.Status) refusal {
	return refusal{Plugin: status.Plugin(), Code: status.Code().String(), Reasons: status.Reasons()}
}

// judge runs one pod through the extension points that decide about feasibility.
func (w *world) judge(pod *v1.Pod) (*verdict, error) {
	result := &verdict{Feasible: []string{}, Infeasible: map[string]refusal{}, Errors: map[string]refusal{}}
	for _, plugin := range w.framework.PreEnqueuePlugins() {
		if status := plugin.PreEnqueue(w.ctx, pod); !status.IsSuccess() {
			refused := refusalOf(status)
			refused.Plugin = plugin.Name()
			result.PreEnqueue = &refused
			break
		}
	}
	state := framework.NewCycleState()
	narrowed, status, by := w.framework.RunPreFilterPlugins(w.ctx, state, pod)
	if !status.IsSuccess() {
		refused := refusalOf(status)
		if refused.Plugin == "" {
			refused.Plugin = join(by)
		}
		result.PreFilter = &refused
		return result, nil
	}
	infos, err := w.snapshot.NodeInfos().List()
	if err != nil {
		return nil, fmt.Errorf("unable to list the nodes: %w", err)
	}
	for _, info := range infos {
		w.judgeNode(state, pod, info, narrowed, by, result)
	}
	sort.Strings(result.Feasible)
	return result, nil
}

func (w *world) judgeNode(
	state fwk.CycleState, pod *v1.Pod, info fwk.NodeInfo,
	narrowed *fwk.PreFilterResult, by sets.Set[string], result *verdict,
) {
	name := info.Node().Name
	if !narrowed.AllNodes() && !narrowed.NodeNames.Has(name) {
		result.Infeasible[name] = refusal{Plugin: join(by), Code: fwk.UnschedulableAndUnresolvable.String()}
		return
	}
	status := w.framework.RunFilterPluginsWithNominatedPods(w.ctx, state, pod, info)
	switch {
	case status.IsSuccess():
		result.Feasible = append(result.Feasible, name)
	case status.IsRejected():
		result.Infeasible[name] = refusalOf(status)
	default:
		result.Errors[name] = refusalOf(status)
	}
}

func join(names sets.Set[string]) string {
	joined := ""
	for _, name := range sets.List(names) {
		if joined != "" {
			joined += ","
		}
		joined += name
	}
	return joined
}

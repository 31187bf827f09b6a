// Command oracle says on which nodes a pod may run, judged by kube-scheduler's own filters.
//
// It reads one case a line on standard input and writes one answer a line on standard output, in
// the same order; ../README.md describes both.
// Nothing is kept from one case to the next, and a case that makes a plugin panic costs only itself.
// Deliberately absent: scores, preemption, reservation, binding, extenders, and any API server.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"sync/atomic"

	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/pkg/scheduler/metrics"
)

// readBuffer is the room for the start of a line; longer lines grow it.
const readBuffer = 1 << 20

// workerPanics counts panics in goroutines that plugins start: they can't be recovered from here.
var workerPanics atomic.Int64

func main() {
	klog.InitFlags(nil)
	gates := flag.String("feature-gates", "", "gates to change, such as GenericWorkload=true")
	flag.Parse()
	if *gates != "" {
		if err := utilfeature.DefaultMutableFeatureGate.Set(*gates); err != nil {
			fmt.Fprintf(os.Stderr, "error: %v\n", err)
			os.Exit(2)
		}
	}
	metrics.Register()
	utilruntime.ReallyCrash = false
	utilruntime.PanicHandlers = append(utilruntime.PanicHandlers, func(context.Context, interface{}) {
		workerPanics.Add(1)
	})
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintf(os.Stderr, "error: %v\n", err)
		os.Exit(1)
	}
}

func serve(input io.Reader, output io.Writer) error {
	lines := bufio.NewReaderSize(input, readBuffer)
	answers := bufio.NewWriter(output)
	encoder := json.NewEncoder(answers)
	encoder.SetEscapeHTML(false)
	o := &oracle{}
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 1 {
			if err := encoder.Encode(o.answer(line)); err != nil {
				return fmt.Errorf("unable to write an answer: %w", err)
			}
			if err := answers.Flush(); err != nil {
				return fmt.Errorf("unable to write an answer: %w", err)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("unable to read a case: %w", err)
		}
	}
}

// An oracle holds the world that the next case will use, if the last one left it intact.
type oracle struct {
	world *world
}

func (o *oracle) answer(line []byte) (result *answer) {
	result = &answer{}
	q := &question{}
	panicsBefore := workerPanics.Load()
	defer func() {
		result.ID = q.ID
		if r := recover(); r != nil {
			fmt.Fprintf(os.Stderr, "panic: %v\n%s\n", r, debug.Stack())
			o.spoil(result, fmt.Sprintf("the case made a panic: %v", r))
		} else if workerPanics.Load() != panicsBefore {
			o.spoil(result, "the case made a panic in a goroutine of a plugin; see standard error")
		}
	}()
	err := q.parse(line)
	if err == nil {
		err = o.judge(q, result)
	}
	if err != nil {
		o.spoil(result, err.Error())
	}
	return result
}

func (o *oracle) judge(q *question, result *answer) error {
	if o.world == nil {
		world, err := newWorld(context.Background())
		if err != nil {
			return err
		}
		o.world = world
	}
	if err := o.world.load(q); err != nil {
		return err
	}
	verdicts := make([]*verdict, 0, 1)
	for _, pod := range q.candidates() {
		verdict, err := o.world.judge(pod)
		if err != nil {
			return err
		}
		verdicts = append(verdicts, verdict)
	}
	if q.Pod != nil {
		result.verdict = verdicts[0]
	} else {
		result.Answers = verdicts
	}
	return nil
}

// spoil turns the answer into an error, and has the next case start in a new world.
func (o *oracle) spoil(result *answer, text string) {
	result.verdict, result.Answers, result.Error = nil, nil, text
	if o.world != nil {
		o.world.cancel()
		o.world = nil
	}
}

package main

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// A shelf is an informer without a server: its objects are put there case by case, and its handlers
// have run when swap returns.
// Plugins can't tell it from a real one, and there is nothing to wait for and nothing to race with.
type shelf struct {
	indexer  cache.Indexer
	handlers []cache.ResourceEventHandler
	held     []runtime.Object
}

// newShelf takes the place of the factory's own informer for the type of sample.
// The factory keeps the first informer of a type, so this must run before anybody asks for one.
func newShelf(factory informers.SharedInformerFactory, sample runtime.Object) *shelf {
	s := &shelf{indexer: cache.NewIndexer(
		cache.MetaNamespaceKeyFunc,
		cache.Indexers{cache.NamespaceIndex: cache.MetaNamespaceIndexFunc},
	)}
	factory.InformerFor(sample, func(kubernetes.Interface, time.Duration) cache.SharedIndexInformer {
		return s
	})
	return s
}

// clear takes every object away, as if it had been deleted.
func (s *shelf) clear() error {
	old := s.held
	s.held = nil
	if err := s.indexer.Replace(nil, ""); err != nil {
		return err
	}
	for _, object := range old {
		for _, handler := range s.handlers {
			handler.OnDelete(object)
		}
	}
	return nil
}

// fill puts objects on an empty shelf.
func (s *shelf) fill(objects []runtime.Object) error {
	for _, object := range objects {
		if err := s.indexer.Add(object); err != nil {
			return err
		}
	}
	s.held = objects
	for _, object := range objects {
		for _, handler := range s.handlers {
			handler.OnAdd(object, false)
		}
	}
	return nil
}

// The rest is what cache.SharedIndexInformer asks for.

func (s *shelf) AddEventHandler(h cache.ResourceEventHandler) (cache.ResourceEventHandlerRegistration, error) {
	s.handlers = append(s.handlers, h)
	return synced{}, nil
}

func (s *shelf) AddEventHandlerWithResyncPeriod(
	h cache.ResourceEventHandler, _ time.Duration,
) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(h)
}

func (s *shelf) AddEventHandlerWithOptions(
	h cache.ResourceEventHandler, _ cache.HandlerOptions,
) (cache.ResourceEventHandlerRegistration, error) {
	return s.AddEventHandler(h)
}

func (s *shelf) RemoveEventHandler(cache.ResourceEventHandlerRegistration) error { return nil }
func (s *shelf) AddIndexers(indexers cache.Indexers) error                       { return s.indexer.AddIndexers(indexers) }
func (s *shelf) GetIndexer() cache.Indexer                                       { return s.indexer }
func (s *shelf) GetStore() cache.Store                                           { return s.indexer }
func (s *shelf) GetController() cache.Controller                                 { return nil }
func (s *shelf) Run(<-chan struct{})                                             {}
func (s *shelf) RunWithContext(context.Context)                                  {}
func (s *shelf) HasSynced() bool                                                 { return true }
func (s *shelf) HasSyncedChecker() cache.DoneChecker                             { return synced{} }
func (s *shelf) LastSyncResourceVersion() string                                 { return "" }
func (s *shelf) SetWatchErrorHandler(cache.WatchErrorHandler) error              { return nil }
func (s *shelf) SetWatchErrorHandlerWithContext(cache.WatchErrorHandlerWithContext) error {
	return nil
}
func (s *shelf) SetTransform(cache.TransformFunc) error { return nil }
func (s *shelf) IsStopped() bool                        { return false }

// synced says that a shelf and its handlers are always up to date.
type synced struct{}

var done = func() <-chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

func (synced) Name() string                        { return "shelf" }
func (synced) Done() <-chan struct{}               { return done }
func (synced) HasSynced() bool                     { return true }
func (synced) HasSyncedChecker() cache.DoneChecker { return synced{} }

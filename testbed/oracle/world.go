package main

import (
	"context"
	"fmt"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/dynamic-resource-allocation/deviceclass/extendedresourcecache"
	"k8s.io/dynamic-resource-allocation/resourceslice/tracker"
	"k8s.io/klog/v2"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler/apis/config/latest"
	internalcache "k8s.io/kubernetes/pkg/scheduler/backend/cache"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/nodevolumelimits"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
	"k8s.io/kubernetes/pkg/scheduler/util/assumecache"
)

// parallelism is kube-scheduler's own default; more changed nothing that could be measured.
const parallelism = 16

// A world is one scheduler framework with the default profile, and the shelves that it reads from.
// It is built once and serves case after case: building it costs more than most cases.
type world struct {
	cancel    context.CancelFunc
	ctx       context.Context
	framework framework.Framework
	shelves   map[string]*shelf
	snapshot  *snapshot
	nominated *nominator
}

// A snapshot keeps its place while its content changes: plugins hold on to the lister they were given.
type snapshot struct {
	*internalcache.Snapshot
}

func newWorld(parent context.Context) (*world, error) {
	ctx, cancel := context.WithCancel(parent)
	factory := informers.NewSharedInformerFactory(nil, 0)
	w := &world{
		cancel:    cancel,
		ctx:       ctx,
		shelves:   newShelves(factory),
		snapshot:  &snapshot{internalcache.NewEmptySnapshot()},
		nominated: &nominator{},
	}
	dra, err := newDRAManager(ctx, factory)
	if err != nil {
		cancel()
		return nil, err
	}
	config, err := latest.Default()
	if err != nil {
		cancel()
		return nil, fmt.Errorf("unable to make the default configuration: %w", err)
	}
	w.framework, err = frameworkruntime.NewFramework(
		ctx,
		plugins.NewInTreeRegistry(),
		&config.Profiles[0],
		frameworkruntime.WithInformerFactory(factory),
		frameworkruntime.WithSnapshotSharedLister(w.snapshot),
		frameworkruntime.WithMutableSnapshotLister(w.snapshot),
		frameworkruntime.WithSharedDRAManager(dra),
		frameworkruntime.WithSharedCSIManager(
			nodevolumelimits.NewCSIManager(factory.Storage().V1().CSINodes().Lister())),
		frameworkruntime.WithPodNominator(w.nominated),
		frameworkruntime.WithParallelism(parallelism),
		frameworkruntime.WithWaitingPods(frameworkruntime.NewWaitingPodsMap()),
		frameworkruntime.WithPodsInPreBind(frameworkruntime.NewPodsInPreBindMap()),
	)
	if err != nil {
		cancel()
		return nil, fmt.Errorf("unable to build the scheduler framework: %w", err)
	}
	return w, nil
}

func newShelves(factory informers.SharedInformerFactory) map[string]*shelf {
	samples := map[string]runtime.Object{
		"pods":                 &v1.Pod{},
		"nodes":                &v1.Node{},
		"namespaces":           &v1.Namespace{},
		"pvcs":                 &v1.PersistentVolumeClaim{},
		"pvs":                  &v1.PersistentVolume{},
		"storageClasses":       &storagev1.StorageClass{},
		"csiNodes":             &storagev1.CSINode{},
		"csiDrivers":           &storagev1.CSIDriver{},
		"csiStorageCapacities": &storagev1.CSIStorageCapacity{},
		"volumeAttachments":    &storagev1.VolumeAttachment{},
		"resourceClaims":       &resourcev1.ResourceClaim{},
		"resourceSlices":       &resourcev1.ResourceSlice{},
		"deviceClasses":        &resourcev1.DeviceClass{},
		"deviceTaintRules":     &resourcev1.DeviceTaintRule{},
	}
	shelves := make(map[string]*shelf, len(samples))
	for name, sample := range samples {
		shelves[name] = newShelf(factory, sample)
	}
	return shelves
}

// newDRAManager wires device claims as the scheduler does it for itself in its constructor and in
// the registration of its event handlers.
func newDRAManager(
	ctx context.Context, factory informers.SharedInformerFactory,
) (*dynamicresources.DefaultDRAManager, error) {
	resources := factory.Resource().V1()
	claims := assumecache.NewAssumeCache(
		klog.FromContext(ctx), resources.ResourceClaims().Informer(), "ResourceClaim", "", nil)
	options := tracker.Options{
		EnableDeviceTaintRules:   utilfeature.DefaultFeatureGate.Enabled(features.DRADeviceTaintRules),
		EnableConsumableCapacity: utilfeature.DefaultFeatureGate.Enabled(features.DRAConsumableCapacity),
		SliceInformer:            resources.ResourceSlices(),
	}
	if options.EnableDeviceTaintRules {
		options.TaintInformer = resources.DeviceTaintRules()
	}
	slices, err := tracker.StartTracker(ctx, options)
	if err != nil {
		return nil, fmt.Errorf("unable to track resource slices: %w", err)
	}
	manager := dynamicresources.NewDRAManager(ctx, claims, slices, factory)
	// Without this, an extended resource that a device class stands for reads as "Insufficient".
	if resolver, ok := manager.DeviceClassResolver().(*extendedresourcecache.ExtendedResourceCache); ok && resolver != nil {
		if _, err := resources.DeviceClasses().Informer().AddEventHandler(resolver); err != nil {
			return nil, fmt.Errorf("unable to follow device classes: %w", err)
		}
	}
	return manager, nil
}

// load replaces the last case's objects with this one's.
// Everything is taken away first, so that an object is never taken for a stale version of one with
// the same name in the case before.
func (w *world) load(q *question) error {
	for _, s := range w.shelves {
		if err := s.clear(); err != nil {
			return err
		}
	}
	for name, objects := range q.objects() {
		if err := w.shelves[name].fill(objects); err != nil {
			return err
		}
	}
	return w.place(q)
}

// place fills the snapshot with the pods that run and the nominator with those that wait.
// A pod on a node that is not listed is left out, as the scheduler's cache would.
func (w *world) place(q *question) error {
	nodes := make(map[string]bool, len(q.Nodes))
	for _, node := range q.Nodes {
		nodes[node.Name] = true
	}
	w.nominated.byNode = map[string][]fwk.PodInfo{}
	running := make([]*v1.Pod, 0, len(q.Pods))
	for _, pod := range q.Pods {
		switch {
		case nodes[pod.Spec.NodeName]:
			running = append(running, pod)
		case pod.Spec.NodeName == "" && pod.Status.NominatedNodeName != "":
			info, err := framework.NewPodInfo(pod)
			if err != nil {
				return fmt.Errorf("nominated pod %s/%s: %w", pod.Namespace, pod.Name, err)
			}
			node := pod.Status.NominatedNodeName
			w.nominated.byNode[node] = append(w.nominated.byNode[node], info)
		}
	}
	w.snapshot.Snapshot = internalcache.NewSnapshot(running, q.Nodes)
	return nil
}

// A nominator answers from the case; nothing is nominated while a case runs.
type nominator struct {
	byNode map[string][]fwk.PodInfo
}

func (n *nominator) NominatedPodsForNode(node string) []fwk.PodInfo { return n.byNode[node] }
func (n *nominator) AddNominatedPod(klog.Logger, fwk.PodInfo, *fwk.NominatingInfo) {
}
func (n *nominator) DeleteNominatedPodIfExists(*v1.Pod)                   {}
func (n *nominator) UpdateNominatedPod(klog.Logger, *v1.Pod, fwk.PodInfo) {}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	v1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/pkg/api/legacyscheme"
	_ "k8s.io/kubernetes/pkg/apis/core/install"
	_ "k8s.io/kubernetes/pkg/apis/resource/install"
	_ "k8s.io/kubernetes/pkg/apis/storage/install"
	kjson "sigs.k8s.io/json"
)

// A question is one line of input: one cluster, and the pods to find nodes for.
type question struct {
	// ID comes back in the answer as it is.
	ID json.RawMessage `json:"id"`
	// Pod is the one candidate; Candidates are several against the same cluster.
	Pod        *v1.Pod   `json:"pod"`
	Candidates []*v1.Pod `json:"candidates"`

	Nodes      []*v1.Node      `json:"nodes"`
	Pods       []*v1.Pod       `json:"pods"`
	Namespaces []*v1.Namespace `json:"namespaces"`

	PVCs                 []*v1.PersistentVolumeClaim     `json:"pvcs"`
	PVs                  []*v1.PersistentVolume          `json:"pvs"`
	StorageClasses       []*storagev1.StorageClass       `json:"storageClasses"`
	CSINodes             []*storagev1.CSINode            `json:"csiNodes"`
	CSIDrivers           []*storagev1.CSIDriver          `json:"csiDrivers"`
	CSIStorageCapacities []*storagev1.CSIStorageCapacity `json:"csiStorageCapacities"`
	VolumeAttachments    []*storagev1.VolumeAttachment   `json:"volumeAttachments"`
	ResourceClaims       []*resourcev1.ResourceClaim     `json:"resourceClaims"`
	ResourceSlices       []*resourcev1.ResourceSlice     `json:"resourceSlices"`
	DeviceClasses        []*resourcev1.DeviceClass       `json:"deviceClasses"`
	DeviceTaintRules     []*resourcev1.DeviceTaintRule   `json:"deviceTaintRules"`
}

// parse reads one line and makes it what an API server would have stored.
// A field that Kubernetes does not know is an error: it would be dropped there, and the case would
// ask something else than it says.
func (q *question) parse(line []byte) error {
	strict, err := kjson.UnmarshalStrict(line, q)
	if err != nil {
		return fmt.Errorf("unable to read the case: %w", err)
	}
	if len(strict) > 0 {
		return fmt.Errorf("unable to read the case: %w", errors.Join(strict...))
	}
	if (q.Pod == nil) == (len(q.Candidates) == 0) {
		return errors.New("a case has either `pod` or `candidates`")
	}
	q.dropFinished()
	return q.complete()
}

// dropFinished forgets pods that have ended: the scheduler's own informer excludes them with a field
// selector, and nothing behind it looks again.
func (q *question) dropFinished() {
	live := q.Pods[:0]
	for _, pod := range q.Pods {
		if pod.Status.Phase != v1.PodSucceeded && pod.Status.Phase != v1.PodFailed {
			live = append(live, pod)
		}
	}
	q.Pods = live
}

// objects returns the shelves' content by the name of the shelf.
func (q *question) objects() map[string][]runtime.Object {
	return map[string][]runtime.Object{
		"pods":                 list(q.Pods),
		"nodes":                list(q.Nodes),
		"namespaces":           list(q.Namespaces),
		"pvcs":                 list(q.PVCs),
		"pvs":                  list(q.PVs),
		"storageClasses":       list(q.StorageClasses),
		"csiNodes":             list(q.CSINodes),
		"csiDrivers":           list(q.CSIDrivers),
		"csiStorageCapacities": list(q.CSIStorageCapacities),
		"volumeAttachments":    list(q.VolumeAttachments),
		"resourceClaims":       list(q.ResourceClaims),
		"resourceSlices":       list(q.ResourceSlices),
		"deviceClasses":        list(q.DeviceClasses),
		"deviceTaintRules":     list(q.DeviceTaintRules),
	}
}

// clusterScoped names the shelves whose objects have no namespace.
var clusterScoped = map[string]bool{
	"nodes": true, "namespaces": true, "pvs": true, "storageClasses": true, "csiNodes": true,
	"csiDrivers": true, "volumeAttachments": true, "resourceSlices": true, "deviceClasses": true,
	"deviceTaintRules": true,
}

// complete applies the API's defaults and gives a namespace and a UID to whatever has none: the
// scheduler tracks pods and claims by UID, and an empty one would make two of them the same.
func (q *question) complete() error {
	for kind, objects := range q.objects() {
		names := map[string]bool{}
		for _, object := range objects {
			name, err := settle(kind, object)
			if err != nil {
				return err
			}
			if names[name] {
				return fmt.Errorf("two %s are called %s", kind, name)
			}
			names[name] = true
		}
	}
	for _, pod := range q.candidates() {
		if _, err := settle("candidates", pod); err != nil {
			return err
		}
	}
	return nil
}

func settle(kind string, object runtime.Object) (string, error) {
	meta, ok := object.(metav1.Object)
	if !ok {
		return "", fmt.Errorf("%s: an object without metadata", kind)
	}
	if meta.GetName() == "" {
		return "", fmt.Errorf("%s: an object without metadata.name", kind)
	}
	if !clusterScoped[kind] && meta.GetNamespace() == "" {
		meta.SetNamespace(metav1.NamespaceDefault)
	}
	name := strings.TrimPrefix(meta.GetNamespace()+"/"+meta.GetName(), "/")
	if meta.GetUID() == "" {
		meta.SetUID(types.UID(kind + "/" + name))
	}
	legacyscheme.Scheme.Default(object)
	return name, nil
}

// candidates returns the pods to answer for, one or many.
func (q *question) candidates() []*v1.Pod {
	if q.Pod != nil {
		return []*v1.Pod{q.Pod}
	}
	return q.Candidates
}

func list[T runtime.Object](typed []T) []runtime.Object {
	objects := make([]runtime.Object, len(typed))
	for i, object := range typed {
		objects[i] = object
	}
	return objects
}

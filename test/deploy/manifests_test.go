package deploy

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

func TestCompose(t *testing.T) {
	project, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  folder,
		ConfigFiles: []types.ConfigFile{{Filename: "compose.yaml", Content: read(t, "compose.yaml")}},
		Environment: types.Mapping{"POSTGRES_PASSWORD": "x"},
	})
	if err != nil {
		t.Fatal(err)
	}
	memento := project.Services["memento"]
	configured(t, memento.Environment.ToMapping().Values(), "")
	if build := memento.Build; build == nil || !exists(filepath.Join(build.Context, build.Dockerfile)) {
		t.Errorf("it is built from %+v", build)
	}
	for _, port := range memento.Ports {
		if port.HostIP != "127.0.0.1" {
			t.Errorf("the port %s is open to other machines", port.Published)
		}
	}
}

func exists(file string) bool {
	_, err := os.Stat(file)
	return err == nil
}

// decode decodes a manifest as Kubernetes does: a field that does not exist, or is written
// in another case, is an error.
func decode[T any](t *testing.T, name string) (v T) {
	t.Helper()
	data, err := yaml.YAMLToJSONStrict(read(t, filepath.Join("kubernetes", name)))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	strict, err := json.UnmarshalStrict(data, &v)
	if err = errors.Join(append(strict, err)...); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return v
}

func TestKubernetes(t *testing.T) {
	kustomization := decode[struct {
		APIVersion         string   `json:"apiVersion"`
		Kind               string   `json:"kind"`
		Namespace          string   `json:"namespace"`
		Resources          []string `json:"resources"`
		ConfigMapGenerator []struct {
			Name  string   `json:"name"`
			Files []string `json:"files"`
		} `json:"configMapGenerator"`
		Images []struct {
			Name    string `json:"name"`
			NewName string `json:"newName"`
			NewTag  string `json:"newTag"`
		} `json:"images"`
	}](t, "kustomization.yaml")
	deployment := decode[appsv1.Deployment](t, "deployment.yaml")
	service := decode[corev1.Service](t, "service.yaml")
	account := decode[corev1.ServiceAccount](t, "serviceaccount.yaml")
	budget := decode[policyv1.PodDisruptionBudget](t, "poddisruptionbudget.yaml")
	policy := decode[networkingv1.NetworkPolicy](t, "networkpolicy.yaml")

	kinds := map[string]string{
		"serviceaccount.yaml": account.APIVersion + " " + account.Kind, "deployment.yaml": deployment.APIVersion + " " + deployment.Kind,
		"service.yaml": service.APIVersion + " " + service.Kind, "poddisruptionbudget.yaml": budget.APIVersion + " " + budget.Kind,
		"networkpolicy.yaml": policy.APIVersion + " " + policy.Kind,
	}
	want := map[string]string{
		"serviceaccount.yaml": "v1 ServiceAccount", "deployment.yaml": "apps/v1 Deployment", "service.yaml": "v1 Service",
		"poddisruptionbudget.yaml": "policy/v1 PodDisruptionBudget", "networkpolicy.yaml": "networking.k8s.io/v1 NetworkPolicy",
	}
	if diff := cmp.Diff(want, kinds); diff != "" {
		t.Error("kinds (-want +got):\n" + diff)
	}
	for _, name := range kustomization.Resources {
		if want[name] == "" {
			t.Errorf("%s is not tested", name)
		}
	}
	if len(kustomization.Resources) != len(want) {
		t.Errorf("the resources are %v, want all of %v", kustomization.Resources, want)
	}

	// What selects pods selects these.
	labels := deployment.Spec.Template.Labels
	pod := deployment.Spec.Template.Spec
	for what, selector := range map[string]map[string]string{
		"deployment": deployment.Spec.Selector.MatchLabels, "service": service.Spec.Selector, "budget": budget.Spec.Selector.MatchLabels,
		"policy": policy.Spec.PodSelector.MatchLabels, "spread": pod.TopologySpreadConstraints[0].LabelSelector.MatchLabels,
	} {
		if diff := cmp.Diff(labels, selector); diff != "" {
			t.Errorf("%s (-labels of the pods +selector):\n%s", what, diff)
		}
	}
	c := pod.Containers[0]
	ports := map[string]bool{}
	for _, p := range c.Ports {
		ports[p.Name] = true
	}
	for _, name := range []string{service.Spec.Ports[0].TargetPort.StrVal, c.LivenessProbe.HTTPGet.Port.StrVal, c.ReadinessProbe.HTTPGet.Port.StrVal,
		policy.Spec.Ingress[0].Ports[0].Port.StrVal, policy.Spec.Ingress[1].Ports[0].Port.StrVal} {
		if !ports[name] {
			t.Errorf("the container has no port %q", name)
		}
	}
	volumes := map[string]corev1.Volume{}
	for _, v := range pod.Volumes {
		volumes[v.Name] = v
	}
	for _, m := range c.VolumeMounts {
		if _, ok := volumes[m.Name]; !ok {
			t.Errorf("there is no volume %q", m.Name)
		}
	}
	generated := kustomization.ConfigMapGenerator[0]
	if volumes["config"].ConfigMap.Name != generated.Name || pod.ServiceAccountName != account.Name || c.Image != kustomization.Images[0].Name {
		t.Error("the deployment uses another configuration, account or image than there is")
	}

	// The pod's user is the image's, and a pod that ends has the time that the server takes.
	if *pod.SecurityContext.RunAsUser != 65532 || !*c.SecurityContext.ReadOnlyRootFilesystem || *c.SecurityContext.AllowPrivilegeEscalation {
		t.Error("the pod may do more than it has to")
	}
	accepts(t, c.Args...)
	var env []string
	for _, v := range c.Env {
		if v.ValueFrom == nil {
			env = append(env, v.Name+"="+v.Value)
		}
	}
	configured(t, env, filepath.Join(folder, "kubernetes", generated.Files[0]))

	// The server starts as it is configured, on a database of its own, and the command in
	// kustomization.yaml makes a key.
	env = slices.DeleteFunc(env, func(v string) bool { return strings.HasPrefix(v, "MEMENTO_BACKEND=") })
	serve := command(t, env, "serve", "--config", filepath.Join(folder, "kubernetes", generated.Files[0]),
		"--address", "127.0.0.1:0", "--metrics", "off", "--shutdown-delay", "0", "--json")
	s := start(t, serve)
	for _, probe := range []string{c.LivenessProbe.HTTPGet.Path, c.ReadinessProbe.HTTPGet.Path} {
		get(t, s.URL+probe)
	}
	create := command(t, env, "keys", "create", "me", "--role", "admin")
	create.Env = serve.Env
	key, err := create.Output()
	if err != nil || s.KeyFile != "" {
		t.Fatalf("the first key is in %q; keys create: %v", s.KeyFile, err)
	}
	s.remember(t, strings.TrimSpace(string(key)))

	if mounted := c.VolumeMounts[0].MountPath + "/" + generated.Files[0]; !strings.Contains(strings.Join(c.Args, " "), mounted) {
		t.Errorf("the server does not read %s: %v", mounted, c.Args)
	}
}

package main

import (
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/apimachinery/pkg/util/version"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	logsapi "k8s.io/component-base/logs/api/v1"
	kubelet36 "k8s.io/kubelet/config/v1beta1"
	kubeletconfig "k8s.io/kubernetes/pkg/kubelet/apis/config"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/scheme"
	"k8s.io/kubernetes/pkg/kubelet/apis/config/validation"
	kubelet30 "ostler.dev/kubelet30/config/v1beta1"
	kubelet31 "ostler.dev/kubelet31/config/v1beta1"
	kubelet32 "ostler.dev/kubelet32/config/v1beta1"
	kubelet33 "ostler.dev/kubelet33/config/v1beta1"
	kubelet34 "ostler.dev/kubelet34/config/v1beta1"
	kubelet35 "ostler.dev/kubelet35/config/v1beta1"
)

// The types of each minor version, because minor versions add and remove fields.
var kubeletTypes = map[int]func(*runtime.Scheme) error{
	30: kubelet30.AddToScheme,
	31: kubelet31.AddToScheme,
	32: kubelet32.AddToScheme,
	33: kubelet33.AddToScheme,
	34: kubelet34.AddToScheme,
	35: kubelet35.AddToScheme,
	36: kubelet36.AddToScheme,
}

func init() {
	// As in the main function of the kubelet.
	if err := logsapi.AddFeatureGates(utilfeature.DefaultMutableFeatureGate); err != nil {
		panic(err)
	}
	for minor := range kubeletTypes {
		judges[fmt.Sprintf("kubelet-1.%d", minor)] = kubeletJudge(minor)
	}
}

// kubeletJudge decodes a KubeletConfiguration strictly with the types of a minor version, and validates it with the code of
// kubelet 1.36 and the feature gates of that minor version.
func kubeletJudge(minor int) judge {
	return func(path string) []finding {
		text, err := os.ReadFile(path)
		if err != nil {
			return fault(err)
		}
		if err = decodeAs(minor, text); err == nil {
			err = validateAs(minor, text)
		}
		if err != nil {
			return fault(err)
		}
		return nil
	}
}

func decodeAs(minor int, text []byte) error {
	types := runtime.NewScheme()
	if err := kubeletTypes[minor](types); err != nil {
		return err
	}
	_, _, err := serializer.NewCodecFactory(types, serializer.EnableStrict).UniversalDeserializer().Decode(text, nil, nil)
	return err
}

func validateAs(minor int, text []byte) (err error) {
	// While it sets defaults, the kubelet panics about an unknown feature gate.
	defer func() {
		if died := recover(); died != nil {
			err = fmt.Errorf("%v", died)
		}
	}()
	// The gates are set before the config is decoded, because its defaults depend on them.
	gates := utilfeature.DefaultMutableFeatureGate
	if err := gates.SetEmulationVersion(version.MajorMinor(1, uint(minor))); err != nil {
		return err
	}
	_, codecs, err := scheme.NewSchemeAndCodecs(serializer.EnableStrict)
	if err != nil {
		return err
	}
	decoded, _, err := codecs.UniversalDecoder().Decode(text, nil, nil)
	if err != nil {
		return err
	}
	config, isConfig := decoded.(*kubeletconfig.KubeletConfiguration)
	if !isConfig {
		return fmt.Errorf("the file is a %T, not a KubeletConfiguration", decoded)
	}
	// FailCgroupV1 depends on the host that runs this program, not on the file.
	config.FailCgroupV1 = false
	return validation.ValidateKubeletConfiguration(config, gates)
}

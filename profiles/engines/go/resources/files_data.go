// Package resources has the data of templates. Templates can tell types, pointers, methods and the order of fields, and
// errors name types and their packages: all are those of Operating System Manager.
package resources

import (
	"net"

	"ostler/go-templates/amzn2"
	"ostler/go-templates/flatcar"
	"ostler/go-templates/providerconfig"
	"ostler/go-templates/rhel"
	"ostler/go-templates/rockylinux"
	"ostler/go-templates/ubuntu"
	v1 "ostler/go-templates/v1"
	"ostler/go-templates/v1alpha1"
)

type filesData struct {
	KubeVersion                string
	KubeletConfiguration       string
	KubeletSystemdUnit         string
	BootstrapKubeconfig        string
	InTreeCCMAvailable         bool
	CNIVersion                 string
	ClusterDNSIPs              []net.IP
	KubernetesCACert           string
	HostCACert                 string
	ServerAddress              string
	CloudConfig                string
	ContainerRuntime           string
	CloudProviderName          v1alpha1.CloudProvider
	NetworkConfig              *providerconfig.NetworkConfig
	ExternalCloudProvider      bool
	PauseImage                 string
	InitialTaints              string
	HTTPProxy                  *string
	NoProxy                    *string
	ContainerRuntimeConfig     string
	ContainerRuntimeAuthConfig string
	KubeletFeatureGates        map[string]bool
	RHSubscription             map[string]string
	NetworkIPFamily            string

	kubeletConfig
	operatingSystemConfig
	bootstrapConfig
}

type kubeletConfig struct {
	KubeReserved                *map[string]string
	SystemReserved              *map[string]string
	EvictionHard                *map[string]string
	MaxPods                     *int32
	ContainerLogMaxSize         *string
	ContainerLogMaxFiles        *string
	ImageGCHighThresholdPercent *int32
	ImageGCLowThresholdPercent  *int32
	ImageMinimumGCAge           *v1.Duration
	ImageMaximumGCAge           *v1.Duration
}

type operatingSystemConfig struct {
	AmazonLinuxConfig amzn2.Config
	FlatcarConfig     flatcar.Config
	RhelConfig        rhel.Config
	UbuntuConfig      ubuntu.Config
	RockyLinuxConfig  rockylinux.Config
}

type bootstrapConfig struct {
	Token                         string
	ServerURL                     string
	SecretName                    string
	BootstrapKubeconfigSecretName string
}

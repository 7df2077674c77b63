package resources

import (
	"ostler/go-templates/providerconfig"
	v1 "ostler/go-templates/v1"
)

// filesDataTargets has a place for whatever a field of filesData points at.
type filesDataTargets struct {
	networkConfig                                      providerconfig.NetworkConfig
	httpProxy, noProxy                                 string
	kubeReserved, systemReserved, evictionHard         map[string]string
	maxPods, imageGCHighThreshold, imageGCLowThreshold int32
	containerLogMaxSize, containerLogMaxFiles          string
	imageMinimumGCAge, imageMaximumGCAge               v1.Duration
}

func (t *filesDataTargets) pin(d *filesData) {
	move(&d.NetworkConfig, &t.networkConfig)
	move(&d.HTTPProxy, &t.httpProxy)
	move(&d.NoProxy, &t.noProxy)
	move(&d.KubeReserved, &t.kubeReserved)
	move(&d.SystemReserved, &t.systemReserved)
	move(&d.EvictionHard, &t.evictionHard)
	move(&d.MaxPods, &t.maxPods)
	move(&d.ImageGCHighThresholdPercent, &t.imageGCHighThreshold)
	move(&d.ImageGCLowThresholdPercent, &t.imageGCLowThreshold)
	move(&d.ContainerLogMaxSize, &t.containerLogMaxSize)
	move(&d.ContainerLogMaxFiles, &t.containerLogMaxFiles)
	move(&d.ImageMinimumGCAge, &t.imageMinimumGCAge)
	move(&d.ImageMaximumGCAge, &t.imageMaximumGCAge)
}

func move[T any](pointer **T, place *T) {
	if *pointer != nil {
		*place = **pointer
		*pointer = place
	}
}

package main

import (
	"path/filepath"

	"github.com/containerd/containerd/v2/core/remotes/docker/config"
)

func init() { judges["containerd-hosts"] = judgeHosts }

// judgeHosts loads a hosts.toml like containerd 2.2 when it pulls an image; the name of its folder is the registry.
func judgeHosts(path string) []finding {
	ctx, faults := withFaultLog()
	folder := filepath.Dir(path)
	hostDir := func(string) (string, error) { return folder, nil }
	_, err := config.ConfigureHosts(ctx, config.HostOptions{HostDir: hostDir})(filepath.Base(folder))
	faults.add(err)
	return faults.findings
}

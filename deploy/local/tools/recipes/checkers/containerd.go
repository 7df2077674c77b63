package main

import (
	"context"
	"fmt"
	"os"
	"reflect"
	"strings"

	srvconfig "github.com/containerd/containerd/v2/cmd/containerd/server/config"
	"github.com/containerd/containerd/v2/core/metadata"
	"github.com/containerd/containerd/v2/plugins"
	_ "github.com/containerd/containerd/v2/plugins/cri"
	_ "github.com/containerd/containerd/v2/plugins/cri/images"
	_ "github.com/containerd/containerd/v2/plugins/cri/runtime"
	"github.com/containerd/containerd/v2/plugins/services/warning"
	"github.com/containerd/containerd/v2/version"
	"github.com/containerd/plugin"
	"github.com/containerd/plugin/registry"
	"github.com/pelletier/go-toml/v2"
)

func init() { judges["containerd-2.2"] = judgeContainerd }

// The plugins that profiles configure in config.toml, in the order in which containerd starts them.
var criPlugins = []string{
	"io.containerd.cri.v1.images",
	"io.containerd.cri.v1.runtime",
	"io.containerd.grpc.v1.cri",
}

// The default config of each plugin as TOML. Decoding a file overwrites the registered defaults, so they are restored from
// these for the next file.
var defaultsOf = map[string][]byte{}

// judgeContainerd loads a config.toml like containerd 2.2: it reads the file, migrates older versions, decodes the part of
// each plugin, and starts the plugins, which check their own part. Unknown keys and plugins are faults.
func judgeContainerd(path string) []finding {
	ctx, faults := withFaultLog()
	config := &srvconfig.Config{Version: version.ConfigVersion, Plugins: map[string]any{}}
	if err := srvconfig.LoadConfig(ctx, path, config); err != nil {
		faults.add(err)
		return faults.findings
	}
	registered := map[string]plugin.Registration{}
	for _, one := range registry.Graph(srvconfig.V2DisabledFilter(config.DisabledPlugins)) {
		registered[one.URI()] = one
		faults.add(migrate(ctx, config, one))
	}
	faults.add(startPlugins(ctx, config, registered))
	for uri := range config.Plugins {
		if _, isThere := registered[uri]; !isThere {
			faults.add(fmt.Errorf("containerd has no plugin %q", uri))
		}
	}
	return faults.findings
}

func migrate(ctx context.Context, config *srvconfig.Config, one plugin.Registration) error {
	if one.ConfigMigration == nil || config.Version >= version.ConfigVersion {
		return nil
	}
	return one.ConfigMigration(ctx, config.Version, config.Plugins)
}

// startPlugins starts each plugin without the rest of the daemon. Plugins check their config before they need the daemon,
// so other errors are ignored.
func startPlugins(ctx context.Context, config *srvconfig.Config, registered map[string]plugin.Registration) error {
	folder, err := os.MkdirTemp("", "containerd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(folder)
	started := plugin.NewPluginSet()
	emptyMetadata := func(*plugin.InitContext) (any, error) { return (*metadata.DB)(nil), nil }
	properties := map[string]string{plugins.PropertyRootDir: folder + "/root", plugins.PropertyStateDir: folder + "/state"}
	start := func(one plugin.Registration, config any) error {
		initial := plugin.NewContext(ctx, started, properties)
		initial.Config = config
		instance := one.Init(initial)
		if err := started.Add(instance); err != nil {
			return err
		}
		// Any other error means that the daemon does not run.
		if err := instance.Err(); err != nil && strings.HasPrefix(err.Error(), "invalid ") {
			return fmt.Errorf("plugin %s: %w", one.URI(), err)
		}
		return nil
	}
	warnings := registered[string(plugins.WarningPlugin)+"."+plugins.DeprecationsPlugin]
	stub := plugin.Registration{Type: plugins.MetadataPlugin, ID: "stub", InitFn: emptyMetadata}
	for _, one := range []plugin.Registration{warnings, stub} {
		if err := start(one, nil); err != nil {
			return err
		}
	}
	for _, uri := range criPlugins {
		one := registered[uri]
		decoded, err := decode(ctx, config, one)
		if err == nil {
			err = start(one, decoded)
		}
		if err != nil {
			return err
		}
	}
	return deprecations(started)
}

func decode(ctx context.Context, config *srvconfig.Config, one plugin.Registration) (any, error) {
	uri := one.URI()
	if _, isKept := defaultsOf[uri]; !isKept {
		text, err := toml.Marshal(one.Config)
		if err != nil {
			return nil, err
		}
		defaultsOf[uri] = text
	}
	reflect.ValueOf(one.Config).Elem().SetZero()
	if err := toml.Unmarshal(defaultsOf[uri], one.Config); err != nil {
		return nil, err
	}
	return config.Decode(ctx, uri, one.Config)
}

func deprecations(started *plugin.Set) error {
	instance, err := started.Get(plugins.WarningPlugin, plugins.DeprecationsPlugin).Instance()
	if err != nil {
		return err
	}
	for _, one := range instance.(warning.Service).Warnings() {
		return fmt.Errorf("deprecated: %s", one.Message)
	}
	return nil
}
